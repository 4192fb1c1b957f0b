import type { EntryStat } from "../entry-stat.ts";
import { EscapeError, WorkspaceError } from "../error.ts";
import { pathSegments } from "../paths.ts";
import { OWN_PREFIX } from "../protected-places.ts";
import type { ToolDirectory } from "../tool-directory.ts";
import type { StagedRecord } from "./staged-record.ts";

/** As for paths on the disk: see `PathWalk`. */
const MAX_LINKS = 40;
const MAX_DEPTH = 128;

/** What a session sees at a path. */
export interface StagedPlace {
  /** Relative to the granted directory, without `.`, `..` and links; empty for the directory itself. */
  readonly path: string;
  /** The staged change of the entry; `undefined` if there is none. */
  readonly record: StagedRecord | undefined;
  /** What is on the disk, unless a change hides it. */
  readonly disk: EntryStat | undefined;
  readonly kind: "file" | "directory" | "link" | "other" | "missing";
  /** For each link that the path led through, the path as the link names it. */
  readonly aliases: readonly (readonly string[])[];
}

/** Where a path is looked up. */
export interface StagedLookup {
  /** The granted directory as it is on the disk. */
  readonly disk: ToolDirectory;
  /** Returns the change that is staged of a path. */
  find(path: string): StagedRecord | undefined;
}

/**
 * Resolves a path in a granted directory with staged changes, name by name: what is staged comes first, and only links of the
 * disk are followed. The disk can change meanwhile; whatever is opened afterwards is checked again, as for any other path.
 *
 * @param from The path that `path` is relative to, as {@link StagedPlace} has it.
 * @param follow Whether a link at the end is followed.
 * @throws {WorkspaceError}
 */
export function resolveStaged(
  lookup: StagedLookup,
  from: string,
  path: string,
  follow: boolean,
): StagedPlace {
  const names: string[] = [];
  const aliases: string[][] = [];
  const left = [...namesOf(from), ...pathSegments(path)].reverse();
  let links = 0;
  for (;;) {
    const segment = left.pop();
    if (segment === undefined) return rootOrLast(lookup, names, aliases);
    if (segment === ".") continue;
    if (segment === "..") {
      if (names.pop() === undefined) throw new EscapeError();
      continue;
    }
    if (names.length >= MAX_DEPTH) throw new WorkspaceError("name-too-long");
    const place = look(lookup, [...names, segment].join("/"), aliases);
    const isLast = left.length === 0;
    if (place.kind === "link" && (follow || !isLast)) {
      if (++links > MAX_LINKS) throw new WorkspaceError("loop");
      aliases.push([...names, segment, ...left.toReversed().filter((name) => name !== "." && name !== "..")]);
      left.push(...pathSegments(lookup.disk.readLink(place.path)).reverse());
      continue;
    }
    if (isLast) return place;
    if (place.kind === "missing") throw new WorkspaceError("no-entry");
    if (place.kind !== "directory") throw new WorkspaceError("not-directory");
    names.push(segment);
  }
}

function namesOf(path: string): readonly string[] {
  return path === "" ? [] : path.split("/");
}

/** A path that ends in `.` or `..` leads to a directory that was entered before. */
function rootOrLast(
  lookup: StagedLookup,
  names: readonly string[],
  aliases: readonly string[][],
): StagedPlace {
  if (names.length > 0) return look(lookup, names.join("/"), aliases);
  return { path: "", record: undefined, disk: lookup.disk.statSelf(), kind: "directory", aliases };
}

function look(lookup: StagedLookup, path: string, aliases: readonly string[][]): StagedPlace {
  const record = lookup.find(path);
  if (record !== undefined) {
    const { kind } = record.now;
    return { path, record, disk: undefined, kind: kind === "gone" ? "missing" : kind, aliases };
  }
  const disk = isOwn(path) ? undefined : statOnDisk(lookup.disk, path);
  return { path, record, disk, kind: disk === undefined ? "missing" : kindOf(disk), aliases };
}

/** Sandgate's own folder, in which changes are staged, is not shown. */
export function isOwn(path: string): boolean {
  return path === OWN_PREFIX || path.startsWith(`${OWN_PREFIX}/`);
}

function statOnDisk(disk: ToolDirectory, path: string): EntryStat | undefined {
  try {
    return disk.stat(path);
  } catch (error) {
    if (error instanceof WorkspaceError && ["no-entry", "not-directory"].includes(error.code))
      return undefined;
    throw error;
  }
}

function kindOf({ kind }: EntryStat): StagedPlace["kind"] {
  if (kind === "regular-file") return "file";
  if (kind === "symbolic-link") return "link";
  return kind === "directory" ? kind : "other";
}
