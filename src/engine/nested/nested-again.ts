import type { NestedResult } from "../../sandboxes/contract/task.ts";
import type { ReceivedCall } from "../call/call.ts";
import type { DispatchContext } from "../call/context.ts";
import { isRepeatableNested } from "../call/idempotency.ts";
import type { CallSuspension } from "../call/suspension.ts";
import { interruptedText } from "../failure/errors.ts";

/** How a call that an earlier process made goes on: with the result that it had, or by a dispatch. */
type Again =
  | { readonly result: NestedResult }
  | {
      /** Whether it runs again after it was begun. */
      readonly isAgain: boolean;
      /** Whether its own tool was suspended. */
      readonly isSuspended: boolean;
    };

/**
 * Returns how a call goes on that a tool made before it was suspended. A call that had not begun is dispatched, and a person
 * who was asked about it is not asked anew. One that was begun and has not ended runs again only if that has no further
 * effect: it reads, or its tool is `idempotent` and gets the key that it got before.
 */
export async function nestedAgain(
  { id, name }: ReceivedCall,
  number: number,
  suspension: CallSuspension | undefined,
  ctx: DispatchContext,
): Promise<Again> {
  const { registry, suspensions, sessionId, turnId = "", messageId = "" } = ctx;
  const known = await suspension?.known(number);
  if (known === undefined) return { isAgain: false, isSuspended: false };
  if (known !== "begun") return { result: known };
  const isSuspended = (await suspensions?.isSuspended({ sessionId, turnId, messageId, callId: id })) === true;
  if (isSuspended) return { isAgain: true, isSuspended };
  const registered = registry.find(name);
  if (registered !== undefined && isRepeatableNested(registered.tool, registered.subject.sideEffects, ctx))
    return { isAgain: true, isSuspended };
  return {
    result: { error: { code: "execution_error", message: interruptedText(name), effect: "unknown" } },
  };
}
