import { readJournal } from "../../../journal/read/read-journal.ts";
import { joinShown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import type { JournalCommand } from "../../journal-command.ts";
import { EXIT_INTERRUPTED, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { isSelected, showEntry } from "./entry-line.ts";
import { directoryOf } from "./place.ts";

/** Prints the selected records of a journal, one per line. */
export async function show(
  { place, selection, isJson }: Extract<JournalCommand, { name: "journal show" }>,
  { stdout, signal }: Terminal,
): Promise<ExitCode> {
  for await (const { entries } of readJournal(await directoryOf(place))) {
    if (signal?.aborted) return EXIT_INTERRUPTED;
    const lines = entries
      .filter((entry) => isSelected(entry, selection))
      .map((entry) => showEntry(entry, isJson));
    const { text } = joinShown(lines, "\n");
    await print(stdout, new ShownText(text, { isData: isJson }));
  }
  return EXIT_OK;
}
