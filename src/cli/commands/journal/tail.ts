import { setTimeout as delay } from "node:timers/promises";
import type { JournalEntry } from "../../../journal/line/entry.ts";
import { type JournalPosition, readJournal } from "../../../journal/read/read-journal.ts";
import { EXIT_INTERRUPTED, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { isSelected, type JournalSelection, showEntry } from "./entry-line.ts";
import { directoryOf, type JournalPlace } from "./place.ts";

/** The number of records that are shown at first. */
const SHOWN_AT_FIRST = 10;
const POLL_MS = 250;

/** Options of `sandgate journal tail`. */
interface TailOptions {
  readonly place: JournalPlace;
  readonly selection: JournalSelection;
  readonly isJson: boolean;
  /** Whether it waits for more records. */
  readonly follows: boolean;
}

/** Prints the last selected records of a journal, and with `-f` those that follow until it is interrupted. */
export async function tail(
  { place, selection, isJson, follows }: TailOptions,
  { stdout, signal }: Terminal,
): Promise<ExitCode> {
  const directory = await directoryOf(place);
  let last: JournalEntry[] = [];
  let next: JournalPosition | undefined;
  for await (const batch of readJournal(directory)) {
    next = batch.next;
    last = [...last, ...batch.entries.filter((entry) => isSelected(entry, selection))].slice(-SHOWN_AT_FIRST);
  }
  for (const entry of last) await print(stdout, showEntry(entry, isJson));
  // There is no reader once the pipe is closed.
  while (follows && !signal?.aborted && !stdout.destroyed) {
    for await (const batch of readJournal(directory, next)) {
      next = batch.next;
      for (const entry of batch.entries) {
        if (isSelected(entry, selection)) await print(stdout, showEntry(entry, isJson));
      }
    }
    await delay(POLL_MS, undefined, signal && { signal }).catch(() => {});
  }
  return follows && !stdout.destroyed ? EXIT_INTERRUPTED : EXIT_OK;
}
