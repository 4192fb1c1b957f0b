import { FileFailure } from "../../tool/tool-failure.ts";
import type { FileEntry, WorkspaceFiles } from "../../tool/workspace-files.ts";
import { Glob, readGlob } from "./glob.ts";
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

interface WalkedDirectory {
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
  const places: WalkedDirectory[] = [{ prefix: first, scope: await scopeAbove(files, first, options) }];
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
    const below: WalkedDirectory[] = [];
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

/** What the rules of a `.gitignore` say of an entry; `undefined` if no rule matches it. */
export type Verdict = "ignored" | "included" | undefined;

interface Rule {
  readonly verdict: "ignored" | "included";
  readonly directoriesOnly: boolean;
  /** Whether it matches only the name of an entry, in whichever directory. */
  readonly isOfNames: boolean;
  /** Without the slashes at both ends. */
  readonly pattern: string;
}

interface GlobRule {
  readonly place: number;
  readonly rule: Rule;
  readonly glob: Glob;
}

/** The longest pattern with special characters. Longer ones match nothing. */
const MAX_TOKENS = 1_024;

/** How much is done between two looks at the time. */
const LINES_PER_TURN = 200;
const GLOBS_PER_TURN = 8;

const SPECIAL = /[*?[\\]/;
const STAR_AND_ENDING = /^\*[^*?[\\]*$/;

/**
 * The rules of one `.gitignore`, as Git reads them (gitignore(5)). The last rule that matches decides. Like Git's, they
 * match bytes: all texts are UTF-8 with a character for each byte.
 */
export class IgnoreRules {
  readonly #verdicts: Rule["verdict"][] = [];
  /** The last rule for a name, a path or the end of a name. Rules for directories only have a slash behind that. */
  readonly #names = new Map<string, number>();
  readonly #paths = new Map<string, number>();
  readonly #endings = new Map<string, number>();
  readonly #endingLengths = new Set<number>();
  readonly #globs: GlobRule[] = [];

  private constructor() {}

  /**
   * Reads a `.gitignore`.
   *
   * @param text The bytes of the file as characters, that is, decoded as `latin1`.
   */
  static async parse(text: string, pace: Pace): Promise<IgnoreRules> {
    const rules = new IgnoreRules();
    for (const [index, line] of text
      .replace(/^\xef\xbb\xbf/, "")
      .split("\n")
      .entries()) {
      if (index % LINES_PER_TURN === 0) await pace.turn();
      const rule = readRule(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (rule !== undefined) rules.#add(rule);
    }
    return rules;
  }

  #add(rule: Rule): void {
    const place = this.#verdicts.push(rule.verdict) - 1;
    const { pattern, isOfNames } = rule;
    const slash = rule.directoriesOnly ? "/" : "";
    if (!SPECIAL.test(pattern)) (isOfNames ? this.#names : this.#paths).set(pattern + slash, place);
    else if (isOfNames && STAR_AND_ENDING.test(pattern)) {
      this.#endings.set(pattern.slice(1) + slash, place);
      this.#endingLengths.add(pattern.length - 1);
    } else {
      // Git compares what is before the first special character on its own, and begins to match behind it.
      const tokens = readGlob(pattern, isOfNames ? 0 : pattern.search(SPECIAL));
      if (tokens !== undefined && tokens.length <= MAX_TOKENS)
        this.#globs.push({ place, rule, glob: new Glob(tokens) });
    }
  }

  /**
   * Returns what the rules say of an entry.
   *
   * @param path The path below the directory of the `.gitignore`; see {@link bytesOf}.
   */
  async verdictOn(path: string, isDirectory: boolean, pace: Pace): Promise<Verdict> {
    const name = path.slice(path.lastIndexOf("/") + 1);
    let last = Math.max(lastOf(this.#names, name, isDirectory), lastOf(this.#paths, path, isDirectory));
    for (const length of this.#endingLengths) {
      const start = name.length - length;
      if (start >= 0) last = Math.max(last, lastOf(this.#endings, name.slice(start), isDirectory));
    }
    for (let index = this.#globs.length - 1; index >= 0; index--) {
      const { place, rule, glob } = this.#globs[index] as GlobRule;
      if (place < last) break;
      if (index % GLOBS_PER_TURN === 0) {
        await pace.turn();
        if (pace.isOver) return undefined;
      }
      if (rule.directoriesOnly && !isDirectory) continue;
      if (!glob.matches(rule.isOfNames ? name : path)) continue;
      last = place;
      break;
    }
    return this.#verdicts[last];
  }
}

function lastOf(rules: ReadonlyMap<string, number>, text: string, isDirectory: boolean): number {
  const last = rules.get(text) ?? -1;
  return isDirectory ? Math.max(last, rules.get(`${text}/`) ?? -1) : last;
}

function readRule(line: string): Rule | undefined {
  if (line.startsWith("#")) return undefined;
  let pattern = withoutEndSpaces(line);
  const isNegated = pattern.startsWith("!");
  if (isNegated) pattern = pattern.slice(1);
  const directoriesOnly = pattern.endsWith("/");
  if (directoriesOnly) pattern = pattern.slice(0, -1);
  const isOfNames = !pattern.includes("/");
  if (pattern.startsWith("/")) pattern = pattern.slice(1);
  if (pattern === "") return undefined;
  return { verdict: isNegated ? "included" : "ignored", directoriesOnly, isOfNames, pattern };
}

/** Removes spaces at the end that no backslash escapes. */
function withoutEndSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === " ") end--;
  if (end === line.length) return line;
  let backslashes = 0;
  while (line[end - 1 - backslashes] === "\\") backslashes++;
  return line.slice(0, backslashes % 2 === 1 ? end + 1 : end);
}

/** Returns a text with a character for each byte of its UTF-8, as {@link IgnoreRules} take them. */
export function bytesOf(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}
