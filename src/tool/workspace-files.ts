/** The kind of an entry of a directory. Links, devices and the like are `other`. */
export type FileKind = "file" | "directory" | "other";

/** The status of a file or directory. */
export interface FileStat {
  readonly kind: FileKind;
  /** Size in bytes. */
  readonly size: number;
  /** Time of the last change, in ms since the epoch. */
  readonly modifiedMs: number;
}

/** An entry of a directory. */
export interface FileEntry {
  readonly name: string;
  readonly kind: FileKind;
}

/**
 * The granted files of a call of a host tool. Every path is checked against the grant when it is used.
 *
 * A relative path begins at `/`, where the tool sees what is granted; if nothing is granted there, at the first granted
 * directory. An absolute path is one that begins with the `at` of a grant, or a path on this machine that is granted.
 * `..` and links are resolved, and must not lead out.
 *
 * All functions reject with a {@link WorkspaceEscapeError} for a path that leads out of what is granted, and with a
 * {@link FileFailure} if the operation fails. Once the call has ended, they change nothing.
 */
export interface WorkspaceFiles {
  /** Reads a file as UTF-8 text, of at most 16 MiB. */
  read(path: string): Promise<string>;
  /** Reads a file of at most 16 MiB. */
  readBytes(path: string): Promise<Uint8Array>;
  /**
   * Reads a part of a file: at most 16 MiB, from an offset in bytes.
   *
   * @returns what the file has there: fewer bytes than `length` only at its end, and none behind it.
   */
  readRange(path: string, offset: number, length: number): Promise<Uint8Array>;
  /** Replaces a file as a whole, or creates it: if that fails, the old text stays. */
  write(path: string, text: string): Promise<void>;
  /** Like {@link write}, for bytes. */
  writeBytes(path: string, bytes: Uint8Array): Promise<void>;
  /** Appends to a file, or creates it. */
  append(path: string, text: string): Promise<void>;
  /**
   * Replaces a text that occurs exactly once in a file. `text` is taken as it is.
   *
   * Rejects with a {@link FileFailure}, and changes nothing, if it does not occur or occurs more often.
   */
  patch(path: string, old: string, text: string): Promise<void>;
  /** Whether there is an entry at a path. */
  exists(path: string): Promise<boolean>;
  /** Returns the status of what a path leads to. */
  stat(path: string): Promise<FileStat>;
  /** Lists a directory, sorted by name. Rejects if it has more than 100,000 entries. */
  list(path: string): Promise<readonly FileEntry[]>;
  /** Creates a directory. Its parent must exist. */
  mkdir(path: string): Promise<void>;
  /** Renames or moves a file, directory or link. A file at the new path is replaced. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, a link or an empty directory. */
  delete(path: string): Promise<void>;
}
