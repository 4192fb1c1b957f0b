import { readFile, stat } from "node:fs/promises";
import type { JournalReport } from "../../../journal/verify/report.ts";
import { verifyJournal } from "../../../journal/verify/verify-journal.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import { UsageError } from "../../errors.ts";
import { showProgress } from "../../terminal/progress.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";

/** Options of `sandgate journal verify`. */
interface VerifyOptions {
  /** A directory, or files. */
  readonly paths: readonly string[];
  /** Files with copies of checkpoints. */
  readonly checkpoints: readonly string[];
  /** Files with verifier keys. */
  readonly keys: readonly string[];
}

/** Verifies a journal, and prints what was found. The exit code is 1 if it contradicts itself or its checkpoints. */
export async function verifyFiles(
  { paths, checkpoints, keys }: VerifyOptions,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const options = {
    keys: await Promise.all(keys.map(readText)),
    checkpoints: await Promise.all(checkpoints.map(readText)),
  };
  const [directory = ""] = paths;
  const isDirectory =
    paths.length === 1 && (await stat(directory).catch(() => undefined))?.isDirectory() === true;
  const progress = showProgress({ stderr }, "verifying the journal");
  const report = await orUsageError(() =>
    verifyJournal(isDirectory ? { ...options, directory } : { ...options, files: paths }),
  ).finally(() => progress[Symbol.dispose]());
  await print(stdout, joinShown(describe(report), "\n"));
  return report.contradiction === undefined ? EXIT_OK : EXIT_TOOL_FAILED;
}

function describe({ first, last, torn, contradiction, checkpoints }: JournalReport): ShownText[] {
  const range = last === 0 ? shown`there are no records` : shown`records ${first} to ${last} are chained`;
  const lines = [contradiction?.file === undefined ? range : shown`${range} in what comes before`];
  if (torn !== undefined) {
    lines.push(shown`${torn.file} ends with ${torn.bytes} bytes of a record that was not written completely`);
  }
  if (checkpoints === undefined) lines.push(shown`checkpoints were not checked: there is no --key`);
  else {
    const { matching, covered, uncovered } = checkpoints;
    lines.push(
      shown`${matching} checkpoints match, up to record ${covered}; ${uncovered} records are not covered`,
    );
  }
  if (contradiction !== undefined) {
    const { kind, seq, through = seq, file, message } = contradiction;
    const place = through > seq ? shown`records ${seq} to ${through}` : shown`record ${seq}`;
    lines.push(shown`${kind} at ${place}${file === undefined ? "" : ` in ${file}`}: ${message}`);
  }
  return lines;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(shown`cannot read '${path}': ${(error as Error).message}`);
  }
}

async function orUsageError(step: () => Promise<JournalReport>): Promise<JournalReport> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(shown`${error.message}`);
    throw error;
  }
}
