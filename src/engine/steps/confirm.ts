import { race } from "../../base/race.ts";
import { describeThrown } from "../../base/thrown.ts";
import { copyJson } from "../../json/copy.ts";
import { type JsonValue, JsonValueError } from "../../json/value.ts";
import type { AskDecision } from "../../policy/decision.ts";
import { isWithinGrant } from "../../policy/grant/within.ts";
import type { Confirm, ConfirmationAnswer, ConfirmationRequest } from "../call/confirmation.ts";
import { confirmationRequest } from "../call/confirmation-request.ts";
import { shownName } from "../call/shown-name.ts";
import type { PlacedCall } from "../call/state.ts";
import { confirmationTimeoutText, USER_DENIED_TEXT } from "../failure/errors.ts";
import { cancelled, denial, invalid, Refusal } from "../failure/refusal.ts";
import { readArguments, readEditedArguments } from "./arguments.ts";
import { authorise } from "./authorise.ts";
import { lookUp } from "./lookup.ts";
import { narrow } from "./narrow.ts";
import { place } from "./place.ts";

/**
 * Has a person confirm a call that the policy asks about. The call has its placement, since a person is asked only about
 * calls that could run. After the answer, the tool is looked up and the policy consulted once more: both may have changed
 * meanwhile. If the definition of the tool or a wider grant is no longer what the person saw, the person is asked again,
 * once.
 *
 * @throws {Refusal} `user_denied`, `confirmation_timeout`, `permission_denied`, `cancelled`, and what the earlier steps
 *   throw.
 */
export function confirm(call: PlacedCall): undefined | Promise<undefined> {
  return call.decision.decision === "ask" ? confirmLater(call, call.decision) : undefined;
}

async function confirmLater(call: PlacedCall, decision: AskDecision): Promise<undefined> {
  if (await isConfirmed(call, decision)) return;
  const { decision: changed } = call;
  if (await isConfirmed(call, changed.decision === "ask" ? changed : decision)) return;
  throw denial(shownName(call), "policy", "what the call may do changed again while a person was asked");
}

/** Asks once, and consults the policy about an allowed call. Returns whether the call may run as it was shown. */
async function isConfirmed(call: PlacedCall, { question, remember }: AskDecision): Promise<boolean> {
  call.confirmation = undefined;
  const request = confirmationRequest(call, question, remember);
  const answer = await answerTo(call, request);
  const { by, arguments: edited } = readAnswer(answer, call, question);
  if (edited !== undefined) {
    await runEdited(call, request, by, edited);
    return true;
  }
  const { definition } = call.registered;
  lookUp(call);
  if (call.registered.definition.digest !== definition.digest) {
    call.input = call.received.arguments;
    readArguments(call);
    await decideAgain(call);
    return false;
  }
  call.confirmation = { by, digest: request.digest };
  await decideAgain(call);
  return isWithinGrant(call.grant, request.grant);
}

/** The grant is not compared: the person saw the one for other arguments. */
async function runEdited(
  call: PlacedCall,
  { digest }: ConfirmationRequest,
  by: string,
  edited: JsonValue,
): Promise<void> {
  lookUp(call);
  call.input = copyArguments(edited);
  readEditedArguments(call);
  call.confirmation = { by, digest };
  await decideAgain(call);
  const { digest: editedDigest } = confirmationRequest(call, "");
  call.confirmation = { by, digest, editedDigest };
}

async function decideAgain(call: PlacedCall): Promise<void> {
  await authorise(call);
  narrow(call);
  await place(call);
}

/** @throws {Refusal} `cancelled`; `permission_denied` if the question fails. */
async function answerTo(call: PlacedCall, request: ConfirmationRequest): Promise<ConfirmationAnswer> {
  const { signal = new AbortController().signal } = call.ctx;
  if (signal.aborted) throw cancelled();
  const resume = call.caller?.pause?.();
  try {
    // `authorise` refuses calls that no person can be asked about.
    const ask = call.ctx.confirm as Confirm;
    const end = await race(Promise.resolve(ask(request, signal)), { signals: [signal] });
    if (end === "aborted") throw cancelled();
    return end;
  } catch (thrown) {
    if (Refusal.is(thrown)) throw thrown;
    throw denial(shownName(call), "no-approver", describeThrown(thrown).detail);
  } finally {
    resume?.();
  }
}

/** @throws {Refusal} unless the answer is to allow the call. */
function readAnswer(
  answer: ConfirmationAnswer,
  call: PlacedCall,
  question: string,
): Extract<ConfirmationAnswer, { decision: "allow" }> {
  switch (answer?.decision) {
    case "allow":
      if (typeof answer.by === "string") return answer;
      break;
    case "deny":
      throw new Refusal("user_denied", USER_DENIED_TEXT, { detail: `denied by ${String(answer.by)}` });
    case "timeout":
      throw new Refusal("confirmation_timeout", confirmationTimeoutText(answer.afterMs));
    case "nobody":
      throw denial(shownName(call), "no-approver", describeThrown(question).detail);
  }
  throw denial(shownName(call), "no-approver", "the context's confirm returned an invalid answer");
}

function copyArguments(edited: JsonValue): JsonValue {
  try {
    return copyJson(edited);
  } catch (error) {
    const reason = error instanceof JsonValueError ? error.message : "they cannot be read";
    const message = `Invalid arguments: ${reason}`;
    throw invalid(message, [{ path: "", message }]);
  }
}
