import { Glob, readGlob } from "./glob.ts";
import type { Pace } from "./pace.ts";

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
