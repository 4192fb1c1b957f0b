import { writeFile } from "node:fs/promises";
import { archiveJournal } from "../../../journal/archive-journal.ts";
import { createJournalKeys } from "../../../journal/checkpoints/signed-note.ts";
import { forgetSession } from "../../../journal/session-keys.ts";
import { shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal.ts";
import { directoryOf, type JournalPlace, keyOf, readText } from "./place.ts";

/** Options of `sandgate journal archive`. */
interface ArchiveOptions {
  readonly place: JournalPlace;
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly before: number;
  /** The file of the journal's signing key, if no config names it. */
  readonly keyFile: string | undefined;
  /** The files of verifier keys that it had before. */
  readonly earlierKeys: readonly string[];
}

/** Options of `sandgate journal keygen`. */
interface KeygenOptions {
  /** The name of the key. */
  readonly keyName: string;
  /** The file of the signing key; that of the verifier key ends in `.pub`. */
  readonly out: string;
}

/** Creates the keys of a journal. It overwrites no files. */
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

/** Moves the old files of a journal away, and says where its chain begins then. */
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
