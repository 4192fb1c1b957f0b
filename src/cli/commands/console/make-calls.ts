import type { ToolCall } from "../../../engine/call/call.ts";
import type { SessionMode } from "../../../sessions/modes/mode.ts";
import type { Sessions } from "../../../sessions/sessions.ts";
import { operatorId } from "./own-console.ts";

/** Makes calls in a session of the user of this process, and does not wait for them: some may wait for a person. */
export async function makeCalls(
  sessions: Sessions,
  calls: readonly ToolCall[],
  mode: SessionMode | undefined,
  onProblem: (error: unknown) => void,
): Promise<void> {
  const principal = { id: operatorId(), kind: "user" } as const;
  const session = await sessions.open({ principal, ...(mode !== undefined && { mode }) });
  session.turn().dispatchAll(calls).catch(onProblem);
}
