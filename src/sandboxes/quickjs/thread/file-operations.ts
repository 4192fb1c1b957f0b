import { isUtf8 } from "node:buffer";
import type { JsonValue } from "../../../json/value.ts";
import { describeEntry, openDirectory, openFile, removeEntry } from "../../../workspace/entries.ts";
import { WorkspaceError, type WorkspaceErrorCode } from "../../../workspace/error.ts";
import { MAX_READ_BYTES, type WorkspaceFile } from "../../../workspace/file.ts";
import type { Location } from "../../../workspace/locate.ts";
import { MAX_TEXT_BYTES } from "./external-access.ts";
import { MAX_PIECE_LENGTH } from "./guest-message.ts";

/** The parts of the call that an operation needs. */
export interface FileScope {
  /** Resolves another path that the tool named. */
  readonly find: (path: string) => Location;
  /** How many bytes the call may still write. */
  readonly leftBytes: number;
  /** Runs `act`, which creates a file or a directory, and counts it. */
  readonly create: <Made>(act: () => Made) => Made;
}

/** An operation that the workspace would allow, but `fs` does not. */
export class FileOperationError extends Error {
  override readonly name = "FileOperationError";
  readonly code: WorkspaceErrorCode;

  constructor(code: WorkspaceErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * One function of `fs`. It returns what the guest receives.
 *
 * @throws {WorkspaceError}
 * @throws {FileOperationError}
 */
export type FileOperation = (
  at: Location,
  argument: string | Uint8Array,
  scope: FileScope,
) => JsonValue | Uint8Array | undefined;

/** The functions of `fs` by name. The keys are `unknown`, since guests can send anything as a name. */
export const FILE_OPERATIONS: ReadonlyMap<unknown, FileOperation> = new Map<unknown, FileOperation>([
  ["readFile", readContent],
  ["writeFile", writeContent],
  ["appendFile", appendContent],
  ["readdir", listNames],
  ["stat", describe],
  ["mkdir", createDirectory],
  ["rm", remove],
  ["rename", rename],
]);

function readContent({ directory, path }: Location, encoding: string | Uint8Array): string | Uint8Array {
  const file = openFile(directory, path, { read: true, follow: true });
  try {
    const bytes = readAll(file);
    if (encoding === "bytes") return bytes;
    if (!isUtf8(bytes))
      throw new FileOperationError("illegal-byte-sequence", "the file is not UTF-8 text: read it as 'bytes'");
    // The driver decodes a long text, in pieces.
    return bytes.length > MAX_PIECE_LENGTH ? bytes : bytes.toString("utf8");
  } finally {
    file.close();
  }
}

function readAll(file: WorkspaceFile): Buffer {
  if (file.stat().size > MAX_TEXT_BYTES) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = file.read(length, MAX_READ_BYTES);
    if (chunk.length === 0) return Buffer.concat(chunks);
    length += chunk.length;
    // It may grow while it is read.
    if (length > MAX_TEXT_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
}

function tooLarge(): FileOperationError {
  return new FileOperationError(
    "file-too-large",
    "it is larger than 8 MiB, the most that can be read at once",
  );
}

function writeContent(
  { directory, path }: Location,
  content: string | Uint8Array,
  { leftBytes, create }: FileScope,
): undefined {
  const bytes = bytesOf(content, leftBytes);
  using replacement = orCreate(
    () => directory.replace(path),
    () => create(() => directory.replace(path, { create: true })),
  );
  replacement.file.write(0, bytes);
  replacement.file.sync();
  replacement.commit();
}

function appendContent(
  { directory, path }: Location,
  content: string | Uint8Array,
  { leftBytes, create }: FileScope,
): undefined {
  const bytes = bytesOf(content, leftBytes);
  const options = { write: true, follow: true };
  const file = orCreate(
    () => openFile(directory, path, options),
    () => create(() => openFile(directory, path, { ...options, create: true })),
  );
  try {
    const appender = file.openForAppending();
    try {
      appender.write(bytes);
    } finally {
      appender.close();
    }
  } finally {
    file.close();
  }
}

/** Encodes what to write. */
function bytesOf(content: string | Uint8Array, leftBytes: number): Uint8Array {
  if (Buffer.byteLength(content) > leftBytes) {
    throw new FileOperationError(
      "insufficient-space",
      "the content exceeds the call's remaining write budget (fileBytes)",
    );
  }
  return typeof content === "string" ? Buffer.from(content) : content;
}

/** Calls `create` if a file is missing. */
function orCreate<Opened>(open: () => Opened, create: () => Opened): Opened {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error.code !== "no-entry") throw error;
  }
  return create();
}

/** Sorted: the order must not depend on the file system. */
function listNames({ directory, path }: Location): string[] {
  const opened = openDirectory(directory, path);
  try {
    const listing = opened.list();
    const names: string[] = [];
    let length = 0;
    for (let entry = listing.next(); entry !== undefined; entry = listing.next()) {
      length += entry.name.length + 3;
      if (length > MAX_TEXT_BYTES) throw tooLarge();
      names.push(entry.name);
    }
    listing.close();
    return names.sort();
  } finally {
    opened.close();
  }
}

function describe({ directory, path }: Location): JsonValue {
  return { ...describeEntry(directory, path) };
}

function createDirectory({ directory, path }: Location, _: unknown, { create }: FileScope): undefined {
  create(() => directory.createDirectory(path));
}

function remove({ directory, path }: Location): undefined {
  removeEntry(directory, path);
}

function rename({ directory, path }: Location, to: string | Uint8Array, { find }: FileScope): undefined {
  const target = find(String(to));
  directory.rename(path, target.directory, target.path);
}
