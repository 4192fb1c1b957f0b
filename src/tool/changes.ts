/** What a call changed in the files that it was granted, as Sandgate saw it. Deeply frozen. */
export interface Changes {
  /** At most 1,000, sorted by path. */
  readonly files: readonly FileChange[];
  /** Set if there are more. */
  readonly more?: true;
  /** The program that ran, with its arguments. Absent unless the tool is a program. */
  readonly command?: string;
}

/** The difference that a call made to one file. */
export interface FileChange {
  /**
   * Relative to the granted directory, without `.` and `..`. If the call was granted several directories, or files, it begins
   * with the place at which the tool sees it (`at`), without the first `/`. A directory that was moved ends with `/`; the
   * files in it are not listed.
   */
  readonly path: string;
  /** A renamed file is `deleted` under its old path and `created` under its new one. */
  readonly change: "created" | "modified" | "deleted";
  /** The size of the file after the call; 0 if it was deleted. */
  readonly bytes: number;
}

/** Maximum number of files of {@link Changes}. */
export const MAX_FILE_CHANGES = 1_000;

/** Returns changes with other paths, such as without secrets. */
export function withPaths(changes: Changes, show: (path: string) => string): Changes {
  return toChanges(
    changes.files.map((file) => ({ ...file, path: show(file.path) })),
    { ...changes, ...(changes.command !== undefined && { command: show(changes.command) }) },
  );
}

/** Returns changes, frozen, with at most {@link MAX_FILE_CHANGES} files. */
export function toChanges(
  files: readonly FileChange[],
  { more, command }: Pick<Changes, "command"> & { readonly more?: boolean | undefined } = {},
): Changes {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1)).slice(0, MAX_FILE_CHANGES);
  return Object.freeze({
    files: Object.freeze(sorted.map((file) => Object.freeze({ ...file }))),
    ...((more || files.length > sorted.length) && { more: true as const }),
    ...(command !== undefined && { command }),
  });
}
