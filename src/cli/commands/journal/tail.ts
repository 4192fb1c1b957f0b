import { setTimeout as delay } from "node:timers/promises";
import type { JournalEntry } from "../../../journal/line/entry.ts";
import { type JournalPosition, readJournal } from "../../../journal/read/read-journal.ts";
import type { JournalCommand } from "../../journal-command.ts";
import { EXIT_INTERRUPTED, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { isSelected, showEntry } from "./entry-line.ts";
import { directoryOf } from "./place.ts";

/** The number of records that are shown at first. */
const SHOWN_AT_FIRST = 10;
const POLL_MS = 250;

/** Prints the last selected records of a journal, and with `-f` those that follow until it is interrupted. */
export async function tail(
  { place, selection, isJson, follows }: Extract<JournalCommand, { name: "journal tail" }>,
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
  while (follows && !signal?.aborted) {
    for await (const batch of readJournal(directory, next)) {
      next = batch.next;
      for (const entry of batch.entries) {
        if (isSelected(entry, selection)) await print(stdout, showEntry(entry, isJson));
      }
    }
    await delay(POLL_MS, undefined, signal && { signal }).catch(() => {});
  }
  return follows ? EXIT_INTERRUPTED : EXIT_OK;
}
