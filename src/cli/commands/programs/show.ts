import { joinShown, shown } from "../../../rendering/shown.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { leftText } from "./list.ts";
import { findProgram, openPrograms, type ProgramsPlace } from "./place.ts";

/** Prints what is readable of a suspended program. Its heap and the results of its calls are sealed. */
export async function show(
  { place, id }: { readonly place: ProgramsPlace; readonly id: string },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const store = await openPrograms(place, true);
  try {
    const program = findProgram(store.list(), id);
    const { sealed } = store.get(program.id) ?? {};
    const ended = store.calls(program.id).filter((call) => call.sealed !== undefined).length;
    const { turnId, messageId, callId, sessionId, toolName, principal = "not known", suspendedAt } = program;
    await print(
      stdout,
      joinShown(
        [
          shown`${program.id}`,
          shown`  tool: ${toolName}`,
          shown`  principal: ${principal}`,
          shown`  call: session ${sessionId}, turn ${turnId}, message ${messageId}, call ${callId}`,
          shown`  suspended: ${new Date(suspendedAt).toISOString()} (suspension ${String(program.revision)} of this program)`,
          shown`  state: ${program.state}, ${leftText(program)}`,
          shown`  calls with a result: ${String(ended)}`,
          ...program.open.map(
            ({ number, toolName: called }) => shown`  waits for: ${called} (${callId}/${String(number)})`,
          ),
          shown`  policy: ${program.policyRevision ?? "not known"}`,
          shown`  engine: ${program.build}`,
          shown`  template: ${program.template}`,
          shown`  sealed: ${String(sealed?.length ?? 0)} bytes, with the key ${program.keyId}`,
        ],
        "\n",
      ),
    );
    return EXIT_OK;
  } finally {
    store.close();
  }
}
