import { readJournal } from "../../../journal/read/read-journal.ts";
import { joinShown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import { EXIT_INTERRUPTED, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { isSelected, type JournalSelection, showEntry } from "./entry-line.ts";
import { directoryOf, type JournalPlace } from "./place.ts";
import { showAsTest } from "./show-as-test.ts";

/** Options of `sandgate journal show`. */
interface ShowOptions {
  readonly place: JournalPlace;
  readonly selection: JournalSelection;
  readonly isJson: boolean;
  /** Whether the calls are printed as cases of a policy test. */
  readonly isTest: boolean;
}

/** Prints the selected records of a journal, one per line, or the selected calls as cases of a policy test. */
export async function show(
  { place, selection, isJson, isTest }: ShowOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { stdout, signal } = terminal;
  const directory = await directoryOf(place);
  if (isTest) return showAsTest(directory, (entry) => isSelected(entry, selection), terminal);
  for await (const { entries } of readJournal(directory)) {
    if (signal?.aborted) return EXIT_INTERRUPTED;
    const lines = entries
      .filter((entry) => isSelected(entry, selection))
      .map((entry) => showEntry(entry, isJson));
    const { text } = joinShown(lines, "\n");
    await print(stdout, new ShownText(text, { isData: isJson }));
  }
  return EXIT_OK;
}
