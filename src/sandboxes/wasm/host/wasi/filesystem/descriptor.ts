import type { EntryKind, EntryStat } from "../../../../../workspace/entry-stat.ts";
import { WorkspaceError } from "../../../../../workspace/error.ts";
import { WorkspaceFile } from "../../../../../workspace/file.ts";
import type { Listing, ToolDirectory } from "../../../../../workspace/tool-directory.ts";
import type { ComponentRecord, ComponentValue } from "../../../abi/value.ts";
import { requireBytes } from "../../interface-members.ts";
import { MisuseError } from "../../misuse.ts";
import type { InputStream, OutputStream } from "../streams.ts";
import { orErrorCode } from "./error.ts";
import { descriptorStat, metadataHash } from "./stat.ts";
import { appendStream, readStream, writeStream } from "./streams.ts";

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
