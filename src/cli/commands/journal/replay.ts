import { replayJournal } from "../../../journal/read/replay-journal.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { directoryOf, type JournalPlace } from "./place.ts";

/** The number of differences that are printed. */
const MAX_SHOWN = 20;

/** Decides every recorded call again. The exit code is 1 if a decision is another one now. */
export async function replay(
  { place }: { readonly place: JournalPlace },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const { same, different, undecided, undecidable } = await replayJournal(await directoryOf(place));
  const lines = [
    shown`${same} calls are decided as recorded, ${different.length} otherwise`,
    ...(undecided > 0 ? [shown`${undecided} calls failed before the policy decided`] : []),
    ...Array.from(undecidable, ([cause, count]) => shown`${count} calls cannot be decided again: ${cause}`),
    ...different
      .slice(0, MAX_SHOWN)
      .map(({ entry, recorded, now }) => shown`record ${entry.seq}: recorded ${recorded}, now ${now}`),
  ];
  await print(stdout, joinShown(lines, "\n"));
  return different.length === 0 ? EXIT_OK : EXIT_TOOL_FAILED;
}
