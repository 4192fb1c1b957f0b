import { archiveJournal } from "../../../journal/archive-journal.ts";
import { readSigningKey } from "../../../journal/checkpoints/note-keys.ts";
import { shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { type JournalPlace, keyOf } from "./place.ts";

/** Options of `sandgate journal archive`. */
interface ArchiveOptions {
  readonly place: JournalPlace;
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly before: number;
  /** The file of the journal's signing key, if no config names it. */
  readonly keyFile: string | undefined;
}

/** Moves the old files of a journal away, and says where its chain begins then. */
export async function archive(
  { place, to, before, keyFile }: ArchiveOptions,
  { stdout }: Terminal,
): Promise<ExitCode> {
  const { directory, key } = await keyOf(place, keyFile);
  let signingKey: ReturnType<typeof readSigningKey> | undefined;
  try {
    signingKey = key === undefined ? undefined : readSigningKey(key);
  } catch (error) {
    throw new UsageError(shown`${(error as Error).message}`);
  }
  const archived = await archiveJournal({ directory, to, before, key: signingKey });
  await print(
    stdout,
    archived === undefined
      ? shown`no file of the journal is old enough: nothing was moved`
      : shown`records up to ${archived.records} were moved to ${to}, in ${archived.files.length} files; the chain begins with record ${archived.records + 1}`,
  );
  return EXIT_OK;
}
