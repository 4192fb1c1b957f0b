import { stat, writeFile } from "node:fs/promises";
import { archiveJournal } from "../../../journal/archive-journal.ts";
import { createJournalKeys } from "../../../journal/checkpoints/signed-note.ts";
import { replayJournal } from "../../../journal/read/replay-journal.ts";
import { forgetSession } from "../../../journal/session-keys.ts";
import type { JournalReport } from "../../../journal/verify/report.ts";
import { verifyJournal } from "../../../journal/verify/verify-journal.ts";
import { type MachinesReport, verifyJournals } from "../../../journal/verify/verify-journals.ts";
import { joinShown, type ShownText, shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import { showProgress } from "../../progress.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal.ts";
import { directoryOf, type JournalPlace, keyOf, readText } from "./place.ts";

/** Maximum number of differences printed. */
const MAX_SHOWN = 20;

/** Options of `sandgate journal verify`. */
interface VerifyOptions {
  /** A directory, several directories of journals of different machines, or files of one journal. */
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
  const directories = (await Promise.all(paths.map(isDirectory))).filter(Boolean).length;
  if (directories > 0 && directories < paths.length)
    throw new UsageError(shown`give either directories of journals or files of one journal`);
  using _ = showProgress({ stderr }, "verifying the journal");
  if (directories > 1) {
    const report = await orUsageError(() => verifyJournals({ ...options, directories: paths }));
    await print(stdout, joinShown(describeMachines(report), "\n"));
    return report.isSound ? EXIT_OK : EXIT_TOOL_FAILED;
  }
  const report = await orUsageError(() =>
    verifyJournal(directories === 1 ? { ...options, directory } : { ...options, files: paths }),
  );
  await print(stdout, joinShown(describe(report), "\n"));
  return report.contradiction === undefined ? EXIT_OK : EXIT_TOOL_FAILED;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

function describeMachines({ journals, absent, calls }: MachinesReport): ShownText[] {
  const lines = journals.flatMap(({ directory, origin = "it has no key", namedByOthers, report }) => [
    shown`${directory} (${origin}):`,
    ...describe(report).map((line) => shown`  ${line}`),
    ...(report.checkpoints === undefined
      ? []
      : [shown`  checkpoints of other journals name it up to record ${namedByOthers}`]),
  ]);
  for (const { origin, records, namedBy } of absent) {
    const who = namedBy === undefined ? "as a copy of its checkpoint says" : shown`as ${namedBy} says`;
    lines.push(shown`absent: the journal of ${origin}, which had ${records} records, ${who}`);
  }
  const { moved, open, unbegun, examples, lost } = calls;
  lines.push(shown`${moved} calls began in one journal and ended in another; ${open} have not ended`);
  if (unbegun > 0) {
    const why = lost > 0 ? shown`: ${lost} records were lost while a journal could not write` : "";
    lines.push(shown`${unbegun} calls ended whose beginning is in no journal${why}`);
  }
  for (const { directory, seq, tool, callId, session } of examples)
    lines.push(shown`  record ${seq} in ${directory}: ${tool} call ${callId} session ${session}`);
  return lines;
}

function describe({ first, last, archived, torn, contradiction, checkpoints }: JournalReport): ShownText[] {
  const range = first === 0 ? shown`there are no records` : shown`records ${first} to ${last} are chained`;
  const lines = [contradiction?.file === undefined ? range : shown`${range} in what comes before`];
  if (archived !== undefined) lines.push(shown`records 1 to ${archived} are not here: they were archived`);
  if (torn !== undefined) {
    lines.push(shown`${torn.file} ends with ${torn.bytes} bytes of a record that was not written completely`);
  }
  if (checkpoints === undefined)
    lines.push(shown`the signatures of checkpoints were not checked: there is no --key`);
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

async function orUsageError<Report>(step: () => Promise<Report>): Promise<Report> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(shown`${error.message}`);
    throw error;
  }
}

/** Decides every recorded call again. The exit code is 1 if a decision differs. */
export async function replay(
  { place }: { readonly place: JournalPlace },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const { same, different, undecided, undecidable } = await replayJournal(await directoryOf(place));
  const lines = [
    shown`${same} calls are decided as recorded, ${different.length} differently`,
    ...(undecided > 0 ? [shown`${undecided} calls failed before the policy decided`] : []),
    ...Array.from(undecidable, ([cause, count]) => shown`${count} calls cannot be decided again: ${cause}`),
    ...different
      .slice(0, MAX_SHOWN)
      .map(({ entry, recorded, now }) => shown`record ${entry.seq}: recorded ${recorded}, now ${now}`),
  ];
  await print(stdout, joinShown(lines, "\n"));
  return different.length === 0 ? EXIT_OK : EXIT_TOOL_FAILED;
}

/** Options of `sandgate journal archive`. */
interface ArchiveOptions {
  readonly place: JournalPlace;
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly before: number;
  /** The file of the journal's signing key, if no config names it. */
  readonly keyFile: string | undefined;
  /** Files with the journal's previous verifier keys. */
  readonly earlierKeys: readonly string[];
}

/** Options of `sandgate journal keygen`. */
interface KeygenOptions {
  /** The name of the key. */
  readonly keyName: string;
  /** The file of the signing key; `.pub` is appended for the verifier key. */
  readonly out: string;
}

/** Creates the keys of a journal. Does not overwrite files. */
export async function keygen({ keyName, out }: KeygenOptions, { stdout }: Terminal): Promise<ExitCode> {
  try {
    const { signer, verifier } = createJournalKeys(keyName);
    await writeFile(out, `${signer}\n`, { flag: "wx", mode: 0o600 });
    await writeFile(`${out}.pub`, `${verifier}\n`, { flag: "wx", mode: 0o644 });
  } catch (error) {
    throw new UsageError(shown`cannot create the keys: ${(error as Error).message}`);
  }
  await print(stdout, shown`${out} signs checkpoints: keep it secret. ${out}.pub verifies them.`);
  return EXIT_OK;
}

/** Moves old files of a journal to another directory, and prints where the chain now begins. */
export async function archive(
  { place, to, before, keyFile, earlierKeys }: ArchiveOptions,
  { stdout }: Terminal,
): Promise<ExitCode> {
  const { directory, key } = await keyOf(place, keyFile);
  const archived = await archiveJournal({
    directory,
    to,
    before,
    ...(key !== undefined && { key }),
    ...(earlierKeys.length > 0 && { earlierKeys: await Promise.all(earlierKeys.map(readText)) }),
  }).catch((error: unknown) => {
    if (error instanceof TypeError) throw new UsageError(shown`${error.message}`);
    throw error;
  });
  await print(
    stdout,
    archived === undefined
      ? shown`no file of the journal is old enough: nothing was moved`
      : shown`records up to ${archived.records} were moved to ${to}, in ${archived.files.length} files; the chain begins with record ${archived.records + 1}`,
  );
  return EXIT_OK;
}

/** Deletes the key of a session, so that its sealed arguments can never be read again. */
export async function forget(
  { place, session }: { readonly place: JournalPlace; readonly session: string },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const wasKnown = await forgetSession(await directoryOf(place), session);
  await print(
    stdout,
    wasKnown
      ? shown`the key of session ${session} is deleted: its sealed arguments cannot be read any more`
      : shown`there is no key of session ${session}`,
  );
  return wasKnown ? EXIT_OK : EXIT_TOOL_FAILED;
}
