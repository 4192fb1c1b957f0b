import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { DurableMessage, DurableRuntime } from "../durable/durable-runtime.ts";
import type { TurnCore } from "./core.ts";
import { cancelledExecution } from "./ended-calls.ts";
import { type MessageCall, storedCalls } from "./message-calls.ts";
import { MessageConflictError } from "./stored-messages.ts";

type Results = (ToolExecution | null)[];

/** How a message runs. */
export interface DurableRunOptions {
  /** Called when the message is stored, or known to be stored. */
  readonly onKept?: (() => void) | undefined;
  /** The trace that its calls belong to. Default: each begins one of its own. */
  readonly trace?: TraceHeaders | undefined;
  /** Whether it does not wait for the messages that came before. Default: it does. */
  readonly isAlone?: boolean;
  /** Whether it is refused if its turn was forgotten. Default: the turn begins again. */
  readonly refusesForgotten?: boolean;
}

/** Thrown if a message was refused since its turn was forgotten. */
export class ForgottenTurnError extends Error {
  override readonly name = "ForgottenTurnError";
}

/**
 * Has a durable runtime run a message, once.
 *
 * @returns one result for each call, in order.
 * @throws {MessageConflictError} as a rejection, if the turn has another message with this id, and {@link ForgottenTurnError}
 *   if it was forgotten. Also what the runtime throws.
 */
export async function runDurably(
  runtime: DurableRuntime,
  { id: turnId, userText, session, unattended }: TurnCore,
  messageId: string,
  calls: readonly MessageCall[],
  { onKept, trace, isAlone = false, refusesForgotten = false }: DurableRunOptions = {},
): Promise<Results> {
  const message: DurableMessage = {
    sessionId: session.id,
    turnId,
    messageId,
    calls: storedCalls(calls),
    receivedAt: Date.now(),
    ...(userText !== undefined && { userText }),
    ...(unattended && { unattended }),
    ...(trace !== undefined && { trace }),
    ...(isAlone && { isAlone }),
    ...(refusesForgotten && { refusesForgotten }),
  };
  const known = await runtime.accept(message);
  if (known === "forgotten") throw new ForgottenTurnError(`the turn '${turnId}' was forgotten`);
  if (known !== undefined && textOf(known.calls) !== textOf(message.calls)) {
    throw new MessageConflictError(`the turn has another message with the id '${messageId}'`);
  }
  onKept?.();
  const place = { ...message, receivedAt: (known ?? message).receivedAt };
  const results = (await runtime.results(place)) ?? (await storedResults(runtime, message));
  const byId = new Map(message.calls.map(({ id }, index) => [id, results[index]]));
  return calls.map((call) => {
    const result = byId.get(call.id);
    // The session was closed before the message began.
    return result === undefined ? cancelledExecution(call) : result;
  });
}

/** Of a message that ended long ago. */
async function storedResults({ store }: DurableRuntime, message: DurableMessage): Promise<Results> {
  const { sessionId, turnId, messageId } = message;
  const states = await store.calls(sessionId, turnId, messageId);
  return states.map(({ execution = null }) => execution);
}

function textOf(calls: DurableMessage["calls"]): string {
  return canonicalText(calls as unknown as JsonValue);
}
