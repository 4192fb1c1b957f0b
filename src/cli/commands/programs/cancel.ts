import { shown } from "../../../rendering/shown.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { findProgram, openPrograms, type ProgramsPlace } from "./place.ts";

/** Removes a suspended program: it cannot continue, and its call ends as interrupted when it would. */
export async function cancel(
  { place, id }: { readonly place: ProgramsPlace; readonly id: string },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const store = await openPrograms(place, false);
  try {
    const program = findProgram(store.list(), id);
    await store.remove(program.id);
    await store.removeTemplates();
    await print(stdout, shown`removed the suspended program ${program.id} of the tool ${program.toolName}`);
    return EXIT_OK;
  } finally {
    store.close();
  }
}
