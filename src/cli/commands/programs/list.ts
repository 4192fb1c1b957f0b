import { formatDuration } from "../../../base/units.ts";
import type { ProgramHeader } from "../../../programs/stores/suspension-store.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { openPrograms, type ProgramsPlace } from "./place.ts";

/** How many characters of an id are printed: enough to tell programs apart. */
const SHORT_ID = 12;

/** Prints the programs that are suspended, the oldest first. */
export async function list(
  { place, isJson }: { readonly place: ProgramsPlace; readonly isJson: boolean },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const store = await openPrograms(place, true);
  try {
    const programs = store.list();
    if (isJson) await print(stdout, new ShownText(JSON.stringify(programs), { isData: true }));
    else if (programs.length === 0) await print(stdout, shown`no program is suspended`);
    else await print(stdout, joinShown(programs.map(lineOf), "\n"));
    return EXIT_OK;
  } finally {
    store.close();
  }
}

function lineOf(program: ProgramHeader): ShownText {
  const { id, toolName, principal = "-", sessionId, open } = program;
  const calls = open.length === 1 ? "1 call" : `${open.length} calls`;
  return shown`${id.slice(0, SHORT_ID)}  ${toolName}  ${principal}  session ${sessionId}  ${calls} open  ${leftText(program)}`;
}

/** Says how long a program may still wait, or that it runs. */
export function leftText({ state, waitUntil }: ProgramHeader): string {
  if (state === "taken") return "running";
  const left = waitUntil - Date.now();
  // Whole minutes: seconds of a week say nothing.
  return left <= 0 ? "expired" : `${formatDuration(Math.max(Math.round(left / 60_000), 1) * 60_000)} left`;
}
