import { ToolFailure } from "../../tool/tool-failure.ts";
import { Glob, type GlobToken, readGlob } from "../files/glob.ts";

/** Maximum number of texts that `{a,b}` in a glob stand for. */
const MAX_ALTERNATIVES = 64;

/** Describes the globs of tools, for models. */
export const GLOB_FORM =
  "*, ?, [a-z], {a,b}, and ** for any directories; without a slash, it is matched against the names of files";

/** Decides on paths of files, relative to where a search begins. */
export type PathFilter = (path: string) => boolean;

/**
 * Compiles a glob for paths, in the syntax of `.gitignore` and with `{a,b}`. One without a slash is matched against the
 * name of a file, in whichever directory; one that ends with a slash, against the directories of a file.
 *
 * @throws {ToolFailure} `validation_error` if it is not a valid glob.
 */
export function compilePathGlob(source: string): PathFilter {
  const filters = readPathGlob(source).map(({ tokens, isOfNames }): PathFilter => {
    const glob = new Glob(tokens);
    if (!isOfNames) return (path) => glob.matches(path);
    return (path) => glob.matches(path.slice(path.lastIndexOf("/") + 1));
  });
  return (path) => filters.some((filter) => filter(path));
}

/** One of the globs that a glob with braces stands for. */
export interface PathGlob {
  readonly tokens: readonly GlobToken[];
  /** Whether it is matched against the name of a file, in whichever directory. */
  readonly isOfNames: boolean;
}

/** @throws {ToolFailure} as {@link compilePathGlob} does. */
export function readPathGlob(source: string): readonly PathGlob[] {
  return expandBraces(source).map((alternative) => {
    const pattern = alternative.replace(/^(?:\.?\/)+/, "");
    const whole = pattern.endsWith("/") ? `${pattern}**` : pattern;
    const tokens = readGlob(whole);
    if (tokens === undefined) throw invalid(source, "a bracket or an escape in it is not complete");
    // A slash at the start anchors the glob to the directory in which the search begins.
    return { tokens, isOfNames: !alternative.includes("/") };
  });
}

function expandBraces(source: string): readonly string[] {
  const done: string[] = [];
  const left = [source];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const group = innermostGroup(next);
    if (group === undefined) done.push(next);
    else {
      for (const part of group.parts) left.push(next.slice(0, group.start) + part + next.slice(group.end));
    }
    if (done.length + left.length > MAX_ALTERNATIVES) {
      throw invalid(source, `its braces stand for more than ${MAX_ALTERNATIVES} texts`);
    }
  }
  return done;
}

/** Finds the first `{…}` that has no other one in it. */
function innermostGroup(
  glob: string,
): { readonly start: number; readonly end: number; readonly parts: readonly string[] } | undefined {
  let start = -1;
  for (let at = 0; at < glob.length; at++) {
    if (glob[at] === "\\") at++;
    else if (glob[at] === "{") start = at;
    else if (glob[at] === "}" && start >= 0) {
      return { start, end: at + 1, parts: glob.slice(start + 1, at).split(",") };
    }
  }
  return undefined;
}

function invalid(source: string, reason: string): ToolFailure {
  const next = "Write it as *.ts, src/**/*.ts or *.{ts,tsx}, with a backslash before a special character.";
  return new ToolFailure("validation_error", `Invalid glob '${source}': ${reason}. ${next}`, {
    effect: "none",
  });
}
