import { describeThrown } from "../../base/thrown.ts";
import { isWithinGrant } from "../../policy/grant/execution-grant.ts";
import { suspensionProblem } from "../../sandboxes/contract/suspension.ts";
import type { EngineState, ReopenedSuspension } from "../call/suspension.ts";
import { suspensionRefusedText } from "../errors.ts";
import { Refusal } from "../refusal.ts";
import { definitionsOf, type PlacedCall, suspendable } from "../state.ts";
import { decideAgain } from "./place.ts";

/**
 * Opens a call that an earlier process suspended, and sets `suspension`. It continues under the grant that it had, if the
 * policy still gives that much: what the policy gives more has no effect. A person who confirmed it is not asked again.
 *
 * @throws {Refusal} `execution_error` if it must not continue, and what `authorise` throws.
 */
export function reopen(call: PlacedCall): undefined | Promise<undefined> {
  return call.received.isSuspended === true ? reopenLater(call) : undefined;
}

async function reopenLater(call: PlacedCall): Promise<undefined> {
  const { suspensions } = call.ctx;
  if (suspensions === undefined) throw refusal(call, "suspended programs are not kept here");
  try {
    return await resume(call, await suspensions.reopen(suspendable(call)));
  } catch (thrown) {
    if (Refusal.is(thrown)) throw thrown;
    throw refusal(call, suspensionProblem(thrown), describeThrown(thrown).detail);
  }
}

async function resume(call: PlacedCall, suspension: ReopenedSuspension): Promise<undefined> {
  const { restored } = suspension;
  call.suspension = suspension;
  if (call.decision.decision === "ask" && restored.confirmation !== undefined) {
    call.confirmation = restored.confirmation;
    await decideAgain(call);
  }
  if (!isWithinGrant(restored.grant, call.grant)) {
    throw refusal(call, "the policy no longer allows what it was granted");
  }
  call.grant = restored.grant;
  call.limits = restored.limits;
  checkDefinitions(call, restored);
}

function checkDefinitions(call: PlacedCall, { definitions }: EngineState): void {
  if (definitions === definitionsOf(call)) return;
  throw refusal(call, "its definition, or that of a tool that it may call, has changed");
}

function refusal({ received }: PlacedCall, reason: string, detail?: string): Refusal {
  const message = suspensionRefusedText(received.name, reason);
  return new Refusal("execution_error", message, detail === undefined ? {} : { detail });
}
