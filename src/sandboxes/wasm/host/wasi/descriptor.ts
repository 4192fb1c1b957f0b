import { loadCrypto } from "../../../../base/load-crypto.ts";
import type { EntryKind, EntryStat } from "../../../../workspace/entry-stat.ts";
import { WorkspaceError, type WorkspaceErrorCode } from "../../../../workspace/error.ts";
import { WorkspaceFile } from "../../../../workspace/file.ts";
import type { Listing, ToolDirectory } from "../../../../workspace/tool-directory.ts";
import type { ComponentRecord, ComponentValue } from "../../abi/value.ts";
import { MisuseError, requireBytes } from "../interface-members.ts";
import { InputStream, IoError, OutputStream } from "./streams.ts";

/** Error codes of failed streams for `filesystem-error-code`, because errors of `wasi:io` only have a message. */
const codes = new WeakMap<IoError, WorkspaceErrorCode>();

const NANOSECONDS_PER_SECOND = 1_000_000_000n;

/** Keyed into hashes, so that a component cannot derive this machine's device and inode numbers from them. */
let secret: Uint8Array | undefined;

type Flags = readonly string[];

// Not static methods, because a component could call them by name.
let make: (node: WorkspaceFile | ToolDirectory) => Descriptor;
let makeEntries: (listing: Listing) => DirectoryEntryStream;

/** Returns a descriptor for an open file or directory, which is closed when the descriptor is dropped. */
export function descriptorOf(node: WorkspaceFile | ToolDirectory): Descriptor {
  return make(node);
}

/**
 * The resource `descriptor` of `wasi:filesystem/types`. A component declares the types of the arguments itself, so an
 * argument of the wrong type can arrive here; that ends the call. Creating links and setting the times of files are not
 * supported.
 */
export class Descriptor {
  static {
    make = (node) => {
      const descriptor = new Descriptor();
      descriptor.#node = node;
      return descriptor;
    };
  }

  #node: WorkspaceFile | ToolDirectory | undefined;

  readViaStream(offset: bigint): InputStream {
    return orErrorCode(() => readStream(this.#file(), toNumber(offset)));
  }
  writeViaStream(offset: bigint): OutputStream {
    return orErrorCode(() => writeStream(this.#file(), toNumber(offset)));
  }
  appendViaStream(): OutputStream {
    return orErrorCode(() => appendStream(this.#file()));
  }
  read(length: bigint, offset: bigint): ComponentValue {
    return orErrorCode(() => {
      const bytes = this.#file().read(toNumber(offset), toNumber(length));
      return [bytes, bytes.length === 0 && length > 0n];
    });
  }
  write(given: Uint8Array, offset: bigint): bigint {
    const bytes = requireBytes(given, "wasi:filesystem/types");
    orErrorCode(() => this.#file().write(toNumber(offset), bytes));
    return BigInt(bytes.length);
  }
  setSize(size: bigint): void {
    orErrorCode(() => this.#file().resize(toNumber(size)));
  }
  advise(): void {}
  sync(): void {
    orErrorCode(() => {
      if (this.#node instanceof WorkspaceFile) this.#node.sync();
    });
  }
  syncData(): void {
    orErrorCode(() => {
      if (this.#node instanceof WorkspaceFile) this.#node.syncData();
    });
  }
  getFlags(): Flags {
    if (this.#node instanceof WorkspaceFile) {
      const { read, write } = this.#node.access;
      return [...(read ? ["read"] : []), ...(write ? ["write"] : [])];
    }
    return orErrorCode(() => ["read", ...(this.#directory().isWritable ? ["mutate-directory"] : [])]);
  }
  getType(): EntryKind {
    return this.#node instanceof WorkspaceFile ? "regular-file" : "directory";
  }
  stat(): ComponentRecord {
    return orErrorCode(() => descriptorStat(this.#stat()));
  }
  statAt(pathFlags: Flags, path: string): ComponentRecord {
    return orErrorCode(() => descriptorStat(this.#statAt(pathFlags, path)));
  }
  metadataHash(): ComponentRecord {
    return orErrorCode(() => metadataHash(this.#stat()));
  }
  metadataHashAt(pathFlags: Flags, path: string): ComponentRecord {
    return orErrorCode(() => metadataHash(this.#statAt(pathFlags, path)));
  }
  isSameObject(other: Descriptor): boolean {
    return orErrorCode(() => this.#stat().identity === other.#stat().identity);
  }
  openAt(pathFlags: Flags, path: string, openFlags: Flags, flags: Flags): Descriptor {
    return orErrorCode(() => {
      if (flags.some((flag) => flag.endsWith("-sync"))) throw new WorkspaceError("unsupported");
      const opened = this.#directory().open(toText(path), {
        follow: pathFlags.includes("symlink-follow"),
        create: openFlags.includes("create"),
        directory: openFlags.includes("directory"),
        exclusive: openFlags.includes("exclusive"),
        truncate: openFlags.includes("truncate"),
        read: flags.includes("read"),
        write: flags.includes("write"),
      });
      return make(opened);
    });
  }
  readDirectory(): DirectoryEntryStream {
    return orErrorCode(() => makeEntries(this.#directory().list()));
  }
  readlinkAt(path: string): string {
    return orErrorCode(() => this.#directory().readLink(toText(path)));
  }
  createDirectoryAt(path: string): void {
    orErrorCode(() => this.#directory().createDirectory(toText(path)));
  }
  removeDirectoryAt(path: string): void {
    orErrorCode(() => this.#directory().removeDirectory(toText(path)));
  }
  unlinkFileAt(path: string): void {
    orErrorCode(() => this.#directory().removeFile(toText(path)));
  }
  renameAt(path: string, to: Descriptor, toPath: string): void {
    orErrorCode(() => this.#directory().rename(toText(path), to.#directory(), toText(toPath)));
  }
  linkAt(): never {
    throw "not-permitted";
  }
  symlinkAt(): never {
    throw "not-permitted";
  }
  setTimes(): never {
    throw "unsupported";
  }
  setTimesAt(): never {
    throw "unsupported";
  }

  #file(): WorkspaceFile {
    if (this.#node instanceof WorkspaceFile) return this.#node;
    throw new WorkspaceError("is-directory");
  }
  #directory(): ToolDirectory {
    if (this.#node === undefined || this.#node instanceof WorkspaceFile)
      throw new WorkspaceError("not-directory");
    return this.#node;
  }
  #stat(): EntryStat {
    return this.#node instanceof WorkspaceFile ? this.#node.stat() : this.#directory().statSelf();
  }
  #statAt(pathFlags: Flags, path: string): EntryStat {
    return this.#directory().stat(toText(path), { follow: pathFlags.includes("symlink-follow") });
  }

  [Symbol.dispose](): void {
    this.#node?.close();
    this.#node = undefined;
  }
}

/** The resource `directory-entry-stream` of `wasi:filesystem/types`. */
export class DirectoryEntryStream {
  static {
    makeEntries = (listing) => {
      const entries = new DirectoryEntryStream();
      entries.#listing = listing;
      return entries;
    };
  }

  #listing: Listing | undefined;

  readDirectoryEntry(): ComponentRecord | undefined {
    const entry = orErrorCode(() => this.#listing?.next());
    return entry && { type: entry.kind, name: entry.name };
  }

  [Symbol.dispose](): void {
    this.#listing?.close();
  }
}

/** Converts an offset or a length. Values that a double cannot represent exactly are far beyond the end of any file. */
function toNumber(value: bigint): number {
  if (typeof value !== "bigint")
    throw new MisuseError("wasi:filesystem/types", "it passed an offset or a length that is no 'u64'");
  return Number(value);
}

function toText(path: string): string {
  if (typeof path !== "string")
    throw new MisuseError("wasi:filesystem/types", "it passed a path that is no text");
  return path;
}

/** Returns a stream that reads a file from an offset. The file stays open if the descriptor is dropped. */
function readStream(file: WorkspaceFile, from: number): InputStream {
  const shared = file.share();
  let offset = from;
  const read = (maxBytes: number): Uint8Array | undefined => {
    const bytes = orStreamError(() => shared.read(offset, maxBytes));
    offset += bytes.length;
    return bytes.length === 0 && maxBytes > 0 ? undefined : bytes;
  };
  return InputStream.from(read, () => shared.close());
}

/** Returns a stream that writes to a file from an offset. */
function writeStream(file: WorkspaceFile, from: number): OutputStream {
  const shared = file.share();
  let offset = from;
  const write = (bytes: Uint8Array): void => {
    orStreamError(() => shared.write(offset, bytes));
    offset += bytes.length;
  };
  return OutputStream.to(write, () => shared.close());
}

/** Returns a stream that appends to the current end of a file. */
function appendStream(file: WorkspaceFile): OutputStream {
  const appender = file.openForAppending();
  return OutputStream.to(
    (bytes) => orStreamError(() => appender.write(bytes)),
    () => appender.close(),
  );
}

/** Returns the record `descriptor-stat`. */
function descriptorStat({
  kind,
  links,
  size,
  accessedAt,
  modifiedAt,
  changedAt,
}: EntryStat): ComponentRecord {
  return {
    type: kind,
    "link-count": links,
    size,
    "data-access-timestamp": datetime(accessedAt),
    "data-modification-timestamp": datetime(modifiedAt),
    "status-change-timestamp": datetime(changedAt),
  };
}

/** Returns the record `metadata-hash-value`. All descriptors of a file have the same value within one thread. */
function metadataHash({ identity }: EntryStat): ComponentRecord {
  const { createHash, randomBytes } = loadCrypto();
  secret ??= randomBytes(16);
  const digest = createHash("sha256").update(secret).update(identity).digest();
  return { lower: digest.readBigUInt64LE(0), upper: digest.readBigUInt64LE(8) };
}

/** Returns the record `datetime`; `undefined` for a time before the epoch, which it cannot represent. */
function datetime(ns: bigint): ComponentRecord | undefined {
  if (ns < 0n) return undefined;
  return { seconds: ns / NANOSECONDS_PER_SECOND, nanoseconds: Number(ns % NANOSECONDS_PER_SECOND) };
}

/** Runs a file operation. If it fails, throws its `error-code`, which the ABI passes as the `err` of a result. */
function orErrorCode<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw error instanceof WorkspaceError ? error.code : error;
  }
}

/** Runs a file operation of a stream. If it fails, throws the variant `stream-error`. */
function orStreamError<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const val = new IoError(error.message);
    codes.set(val, error.code);
    throw { tag: "last-operation-failed", val };
  }
}

/** `filesystem-error-code`. Returns the code of a stream's error if a file operation caused it. */
export function filesystemErrorCode(error: unknown): WorkspaceErrorCode | undefined {
  return error instanceof IoError ? codes.get(error) : undefined;
}
