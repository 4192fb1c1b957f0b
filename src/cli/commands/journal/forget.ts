import { forgetSession } from "../../../journal/sealed/forget-session.ts";
import { shown } from "../../../rendering/shown.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { directoryOf, type JournalPlace } from "./place.ts";

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
