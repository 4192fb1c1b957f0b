import { FileFailure } from "../../tool/file-failure.ts";
import type { FileEntry, WorkspaceFiles } from "../../tool/workspace-files.ts";
import { bytesOf, IgnoreRules, type Verdict } from "./ignore-rules.ts";
import type { Pace } from "./pace.ts";
import type { WalkOptions } from "./walk-options.ts";

const NAME = ".gitignore";

/** The largest `.gitignore` that is read. */
const MAX_BYTES: number = 2 * 1_024 * 1_024;

/** The rules of a directory's `.gitignore`, behind those of the directories above it. */
export interface IgnoreScope {
  /** The length of the directory's path with the slash at its end, in bytes. */
  readonly start: number;
  readonly rules: IgnoreRules;
  readonly above: IgnoreScope | undefined;
}

/** Whether an entry is skipped: `.git`, and what the rules ignore. */
export async function isIgnored(
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
 * @returns `above` if there is none.
 */
export async function scopeOf(
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
    // It was removed in the meantime, or others may not read it.
    if (!(error instanceof FileFailure)) throw error;
  }
  gaps.ignoreFiles.push(path);
  return above;
}
