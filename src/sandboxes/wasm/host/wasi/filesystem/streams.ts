import type { WorkspaceFile } from "../../../../../workspace/file.ts";
import { InputStream, OutputStream } from "../streams.ts";
import { orStreamError } from "./error.ts";

/** Reads a file from a place on. The stream holds the file, though its descriptor may be gone. */
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

/** Writes to a file from a place on. */
export function writeStream(file: WorkspaceFile, from: number): OutputStream {
  const held = file.share();
  let offset = from;
  const write = (bytes: Uint8Array): void => {
    orStreamError(() => held.write(offset, bytes));
    offset += bytes.length;
  };
  return OutputStream.to(write, () => held.close());
}

/** Writes to wherever a file ends at that moment. */
export function appendStream(file: WorkspaceFile): OutputStream {
  const appender = file.openForAppending();
  return OutputStream.to(
    (bytes) => orStreamError(() => appender.write(bytes)),
    () => appender.close(),
  );
}
