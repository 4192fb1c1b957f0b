import { isThenable, toPromise } from "../../base/promises.ts";
import { beginning } from "../../base/text.ts";
import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import { copyJson } from "../../json/copy.ts";
import { type JsonObject, type JsonValue, JsonValueError } from "../../json/value.ts";
import { isWithinGrant } from "../../policy/grant/execution-grant.ts";
import type { AskDecision } from "../../policy/policy.ts";
import type {
  Confirm,
  ConfirmationAnswer,
  ConfirmationRequest,
  RecordedAnswer,
} from "../call/confirmation.ts";
import { confirmationTimeoutText, MAX_REASON_CHARS, userDeniedText } from "../errors.ts";
import { cancelled, denial, invalid, Refusal } from "../refusal.ts";
import { type PlacedCall, shownName } from "../state.ts";
import { checkDeclared, lookUp, preflight, readArguments, readEditedArguments } from "./parse.ts";
import { decideAgain } from "./place.ts";

/** How often a person is asked about a call. */
const MAX_TIMES = 2;

/**
 * Asks a person to confirm a call that the policy asks about. The call has its placement, since a person is
 * asked only about calls that could run. After the answer, the tool is looked up and the policy consulted
 * once more: both may have changed meanwhile. If the definition of the tool or a wider grant is no longer
 * what the person saw, the person is asked again, once; arguments that the person wrote for another
 * definition are dropped.
 *
 * @throws {Refusal} `user_denied`, `confirmation_timeout`, `permission_denied`, `cancelled`, and what the
 *   earlier steps throw.
 */
export function confirm(call: PlacedCall): undefined | Promise<undefined> {
  if (call.decision.decision !== "ask" || isConfirmedBefore(call)) return undefined;
  return confirmLater(call, call.decision);
}

/** Whether a person confirmed the call before it was suspended. */
function isConfirmedBefore({ received, confirmation }: PlacedCall): boolean {
  return received.isSuspended === true && confirmation !== undefined;
}

async function confirmLater(call: PlacedCall, first: AskDecision): Promise<undefined> {
  let decision = first;
  for (let times = 0; times < MAX_TIMES; times++) {
    call.confirmation = undefined;
    const request = confirmationRequest(call, decision.question, decision.remember);
    const answer = await answerTo(call, request);
    if (await isConfirmed(call, request, answer)) return;
    if (call.decision.decision === "ask") decision = call.decision;
  }
  throw denial(shownName(call), "policy", "what the call may do changed again while a person was asked");
}

/** Consults the policy about a call that was allowed. Returns whether it may run as it was shown. */
async function isConfirmed(
  call: PlacedCall,
  request: ConfirmationRequest,
  { by, edited }: Allowed,
): Promise<boolean> {
  const { definition } = call.registered;
  lookUp(call);
  if (call.registered.definition.digest !== definition.digest) {
    call.input = call.received.arguments;
    readArguments(call);
    call.declaredPaths = undefined;
    await checkDeclared(call);
    await decideAgain(call);
    return false;
  }
  if (edited !== undefined) {
    await runEdited(call, request, by, edited);
    return true;
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
  call.input = edited;
  readEditedArguments(call);
  await checkDeclared(call);
  call.confirmation = { by, digest };
  await decideAgain(call);
  await preflight(call);
  const { digest: editedDigest } = confirmationRequest(call, "");
  call.confirmation = { by, digest, editedDigest };
}

/** An answer to allow the call. */
interface Allowed {
  readonly by: string;
  /** A copy of the arguments that the person wrote; `undefined` if they were not changed. */
  readonly edited: JsonValue | undefined;
}

/**
 * Many calls can wait here for long: an async function for each step would take more memory than the question itself.
 *
 * @throws {Refusal} as a rejection, unless the answer is to allow the call.
 */
function answerTo(call: PlacedCall, request: ConfirmationRequest): Promise<Allowed> {
  const { signal = new AbortController().signal } = call.ctx;
  if (signal.aborted) throw cancelled();
  const resume = call.caller?.pause?.();
  const persisted = call.caller?.persist?.();
  // Read first, so that no answer is taken for the end of the race.
  const asking =
    persisted === undefined
      ? askFor(call, request, signal)
      : persisted.then(() => askFor(call, request, signal));
  const reading = asking.then((answer) => readAnswer(answer as ConfirmationAnswer, call, request.question));
  return race(reading, { signals: [signal] }).then(
    (end) => {
      resume?.();
      if (end === "aborted") throw cancelled();
      return end;
    },
    (thrown: unknown) => {
      resume?.();
      if (Refusal.is(thrown)) throw thrown;
      throw denial(shownName(call), "no-approver", describeThrown(thrown).detail);
    },
  );
}

/** Calls the context's `confirm`, which is foreign code. */
function askFor(call: PlacedCall, request: ConfirmationRequest, signal: AbortSignal): Promise<unknown> {
  try {
    // `authorise` refuses calls that no person can be asked about.
    const ask = call.ctx.confirm as Confirm;
    const answer: unknown = ask(request, signal);
    return isThenable(answer) ? toPromise(answer) : Promise.resolve(answer);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/**
 * Reads each member once: an answer of foreign code may be another one the next time.
 *
 * @throws {Refusal} unless the answer is to allow the call; anything that a getter or proxy trap throws.
 */
function readAnswer(answer: ConfirmationAnswer, call: PlacedCall, question: string): Allowed {
  const members = (answer ?? {}) as Partial<Record<string, unknown>>;
  const { decision, by, afterMs, arguments: edited, reason } = members;
  switch (decision) {
    case "allow":
      if (typeof by === "string") {
        call.answer = recordedAnswer(by, decision, afterMs);
        return { by, edited: edited === undefined ? edited : copyArguments(edited) };
      }
      break;
    case "deny": {
      if (typeof by === "string") call.answer = recordedAnswer(by, decision, afterMs);
      const denied = typeof by === "string" ? `denied by ${by}` : "denied";
      if (typeof reason !== "string" || reason === "")
        throw new Refusal("user_denied", userDeniedText(), { detail: denied });
      const why = JSON.stringify(beginning(reason, MAX_REASON_CHARS));
      throw new Refusal("user_denied", userDeniedText(reason), { detail: `${denied}: ${why}` });
    }
    case "timeout":
      throw new Refusal("confirmation_timeout", confirmationTimeoutText(afterMs));
    case "nobody":
      throw denial(shownName(call), "no-approver", describeThrown(question).detail);
  }
  throw denial(shownName(call), "no-approver", "the context's confirm returned an invalid answer");
}

function recordedAnswer(by: string, decision: "allow" | "deny", afterMs: unknown): RecordedAnswer {
  const isKnown = typeof afterMs === "number" && Number.isFinite(afterMs) && afterMs >= 0;
  return { by, decision, ...(isKnown && { afterMs }) };
}

function copyArguments(edited: unknown): JsonValue {
  try {
    return copyJson(edited);
  } catch (error) {
    const reason = error instanceof JsonValueError ? error.message : "they cannot be read";
    const message = `Invalid arguments: ${reason}`;
    throw invalid(message, [{ path: "", message }]);
  }
}

/** Returns what a person is asked about a call, frozen. */
function confirmationRequest(call: PlacedCall, question: string, remember?: "session"): ConfirmationRequest {
  const { received, ctx, principal, caller, registered, input, canonical, declaredPaths, grant, decision } =
    call;
  const { id: callId } = received;
  const { sessionId, turnId, messageId } = ctx;
  return Object.freeze({
    callId,
    sessionId,
    tool: registered.subject,
    input,
    canonical,
    grant,
    question,
    rules: decision.rules ?? [],
    ...(declaredPaths !== undefined && {
      paths: Object.freeze(declaredPaths.map(({ path, access }) => Object.freeze({ path, access }))),
    }),
    ...(turnId !== undefined && { turnId }),
    ...(messageId !== undefined && { messageId }),
    ...(principal !== undefined && { principal }),
    ...(remember !== undefined && { remember }),
    ...(caller !== undefined && { parent: caller.callId }),
    digest: digestOf(call),
  });
}

/** The arguments themselves are in it by their digest, which is that of their canonical text. */
function digestOf({ received, ctx, registered, canonical, grant }: PlacedCall): string {
  const { sessionId, turnId = null, messageId = null } = ctx;
  const identity: JsonObject = {
    sessionId,
    turnId,
    messageId,
    callId: received.id,
    argumentDigest: canonical.digest,
    definitionDigest: registered.definition.digest,
    grant: grant as unknown as JsonObject,
  };
  return new CanonicalJson(identity).digest;
}
