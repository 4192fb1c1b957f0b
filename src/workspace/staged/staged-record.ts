import type { EntryStat } from "../entry-stat.ts";

/** What was on the disk when a change was first staged. */
export type DiskEntry =
  | {
      readonly kind: "file";
      /** SHA-256 of the contents, as 64 hexadecimal digits. */
      readonly sha256: string;
      readonly bytes: number;
      /** Set if the file had changed between the session's last reading of it and its first change. */
      readonly isStale?: true;
    }
  | { readonly kind: "directory" }
  | { readonly kind: "link"; readonly target: string };

/** What the session sees instead. */
export type StagedEntry =
  | {
      readonly kind: "file";
      /** The name of the file among the staged contents. */
      readonly content: string;
    }
  | { readonly kind: "directory" }
  | { readonly kind: "gone" };

/** A staged change of one file, directory or link. */
export interface StagedRecord {
  /** Relative to the workspace, without `.`, `..` and links. */
  readonly path: string;
  /** `null` if there was nothing. */
  readonly was: DiskEntry | null;
  readonly now: StagedEntry;
}

/** Returns what distinguishes versions of a file without reading them. */
export function versionOf({ identity, size, modifiedAt }: EntryStat): string {
  return `${identity}:${size}:${modifiedAt}`;
}

/** The most files of which a session remembers which version it has read. */
const MAX_SEEN = 10_000;

/** Which versions of files a session has read last: a change to another version could undo the changes of others. */
export class SeenVersions {
  readonly #versions = new Map<string, string>();

  add(path: string, version: string): void {
    this.#versions.delete(path);
    this.#versions.set(path, version);
    if (this.#versions.size <= MAX_SEEN) return;
    const [oldest] = this.#versions.keys();
    this.#versions.delete(oldest as string);
  }

  /** Returns the version that was read last; `undefined` if it is not known. */
  get(path: string): string | undefined {
    return this.#versions.get(path);
  }
}
