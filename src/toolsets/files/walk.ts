import { FileFailure } from "../../tool/tool-failure.ts";
import type { FileEntry, WorkspaceFiles } from "../../tool/workspace-files.ts";
import { bytesOf, IgnoreRules, type Verdict } from "./ignore-rules.ts";
import type { Pace } from "./pace.ts";

/** Directories and files that a walk could not read. */
export interface WalkGaps {
  /** Directories that could not be listed: without permission, too deep, or with too many entries. */
  readonly directories: string[];
  /** `.gitignore` files that could not be read, or are too large. */
  readonly ignoreFiles: string[];
}

/** Options of `walkFiles`. */
interface WalkOptions {
  readonly pace: Pace;
  /** Receives what cannot be used. */
  readonly gaps: WalkGaps;
}

const NAME = ".gitignore";

/** The largest `.gitignore` that is read. */
const MAX_BYTES: number = 2 * 1_024 * 1_024;

/** The rules of a directory's `.gitignore`, behind those of the directories above it. */
interface IgnoreScope {
  /** The length of the directory's path with the slash at its end, in bytes. */
  readonly start: number;
  readonly rules: IgnoreRules;
  readonly above: IgnoreScope | undefined;
}

interface Place {
  /** The path with a slash at its end; empty for the first directory. */
  readonly prefix: string;
  readonly scope: IgnoreScope | undefined;
}

/**
 * Finds the regular files at and below a path, in the order of their names, and of the files of a directory before those
 * further down. Links are not followed, and `.git` and what a `.gitignore` names are skipped; `start` itself is not.
 * Ends when the time of `pace` is up.
 *
 * @param start A file or a directory.
 * @returns the paths of the files.
 * @throws {FileFailure} if there is nothing at `start`, or it cannot be listed.
 */
export async function* walkFiles(
  files: WorkspaceFiles,
  start: string,
  options: WalkOptions,
): AsyncGenerator<string, void, undefined> {
  if ((await files.stat(start)).kind === "file") {
    yield start;
    return;
  }
  const { pace, gaps } = options;
  const first = prefixOf(start);
  const places: Place[] = [{ prefix: first, scope: await scopeAbove(files, first, options) }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { prefix } = place;
    await pace.turn();
    if (pace.isOver) return;
    let entries: readonly FileEntry[];
    try {
      entries = await list(files, prefix);
    } catch (error) {
      // Where the walk begins, the caller has to know.
      if (prefix === first || !(error instanceof FileFailure)) throw error;
      gaps.directories.push(prefix);
      continue;
    }
    const scope = await scopeOf(files, prefix, entries, place.scope, options);
    const below: Place[] = [];
    for (const entry of entries) {
      await pace.turn();
      const path = prefix + entry.name;
      const isSkipped = entry.kind === "other" || (await isIgnored(scope, path, entry, pace));
      if (pace.isOver) return;
      if (isSkipped) continue;
      if (entry.kind === "directory") below.push({ prefix: `${path}/`, scope });
      else yield path;
    }
    places.push(...below.reverse());
  }
}

/** Returns a path in the form of {@link Place.prefix}. */
export function prefixOf(path: string): string {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const root = path.startsWith("/") ? "/" : "";
  return names.length === 0 ? root : `${root}${names.join("/")}/`;
}

function list(files: WorkspaceFiles, prefix: string): Promise<readonly FileEntry[]> {
  return files.list(prefix.length > 1 ? prefix.slice(0, -1) : prefix || ".");
}

/** Reads the rules of the directories above a relative path. */
async function scopeAbove(
  files: WorkspaceFiles,
  prefix: string,
  options: WalkOptions,
): Promise<IgnoreScope | undefined> {
  const names = prefix.split("/").slice(0, -1);
  // What is above other paths may not be granted.
  if (prefix.startsWith("/") || names.includes("..")) return undefined;
  let scope: IgnoreScope | undefined;
  let above = "";
  for (const name of names) {
    scope = await scopeOf(files, above, await list(files, above), scope, options);
    above += `${name}/`;
  }
  return scope;
}

/** Whether an entry is skipped: `.git`, and what the rules ignore. */
async function isIgnored(
  scope: IgnoreScope | undefined,
  path: string,
  { name, kind }: FileEntry,
  pace: Pace,
): Promise<boolean> {
  if (name === ".git") return true;
  const bytes = scope === undefined ? "" : bytesOf(path);
  let verdict: Verdict;
  for (let at = scope; at !== undefined && verdict === undefined; at = at.above) {
    verdict = await at.rules.verdictOn(bytes.slice(at.start), kind === "directory", pace);
  }
  return verdict === "ignored";
}

/**
 * Reads the `.gitignore` of a directory.
 *
 * @param prefix The path of the directory with a slash at its end; empty for the first one.
 * @param entries What is in the directory.
 * @returns `above` if the file does not exist.
 */
async function scopeOf(
  files: WorkspaceFiles,
  prefix: string,
  entries: readonly FileEntry[],
  above: IgnoreScope | undefined,
  { pace, gaps }: WalkOptions,
): Promise<IgnoreScope | undefined> {
  // Git does not follow a link of this name, either.
  if (!entries.some(({ name, kind }) => name === NAME && kind === "file")) return above;
  const path = prefix + NAME;
  try {
    if ((await files.stat(path)).size <= MAX_BYTES) {
      const text = Buffer.from(await files.readBytes(path)).toString("latin1");
      return { start: bytesOf(prefix).length, rules: await IgnoreRules.parse(text, pace), above };
    }
  } catch (error) {
    // It was removed in the meantime, or cannot be read without permission.
    if (!(error instanceof FileFailure)) throw error;
  }
  gaps.ignoreFiles.push(path);
  return above;
}

export function noGaps(): WalkGaps {
  return { directories: [], ignoreFiles: [] };
}
