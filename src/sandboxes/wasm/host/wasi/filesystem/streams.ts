import type { WorkspaceFile } from "../../../../../workspace/file.ts";
import { InputStream, OutputStream } from "../streams.ts";
import { orStreamError } from "./error.ts";

/** Returns a stream that reads a file from an offset. It keeps the file open if the descriptor is dropped. */
export function readStream(file: WorkspaceFile, from: number): InputStream {
  const held = file.share();
  let offset = from;
  const read = (maxBytes: number): Uint8Array | undefined => {
    const bytes = orStreamError(() => held.read(offset, maxBytes));
    offset += bytes.length;
    return bytes.length === 0 && maxBytes > 0 ? undefined : bytes;
  };
  return InputStream.from(read, () => held.close());
}

/** Returns a stream that writes to a file from an offset. */
export function writeStream(file: WorkspaceFile, from: number): OutputStream {
  const held = file.share();
  let offset = from;
  const write = (bytes: Uint8Array): void => {
    orStreamError(() => held.write(offset, bytes));
    offset += bytes.length;
  };
  return OutputStream.to(write, () => held.close());
}

/** Returns a stream that appends to the current end of a file. */
export function appendStream(file: WorkspaceFile): OutputStream {
  const appender = file.openForAppending();
  return OutputStream.to(
    (bytes) => orStreamError(() => appender.write(bytes)),
    () => appender.close(),
  );
}
