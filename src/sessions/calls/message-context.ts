import type { DispatchContext } from "../../engine/call/context.ts";
import type { MessageContext, TurnCore } from "./core.ts";

/** Returns the context in which the calls of a message are dispatched. */
export function messageContext(
  turn: TurnCore,
  messageId: string,
  { policy, confirm, ask, stageChanges, journal, events, tracer, suspensions, gates }: MessageContext,
): DispatchContext {
  const { session } = turn;
  const { context } = session.settings;
  // Written out: a spread would cost more than the rest of the session. Members that are absent have no effect.
  return {
    registry: session.registry,
    policy,
    sandboxes: context.sandboxes,
    sessionId: session.id,
    turnId: turn.id,
    messageId,
    workspace: session.workspace,
    principal: session.principal,
    toolAlias: context.toolAlias,
    hooks: context.hooks,
    events,
    tracer,
    redaction: context.redaction,
    partialOutput: session.redaction,
    confirm,
    ask,
    stageChanges,
    journal,
    suspensions,
    signal: gates === undefined ? turn.signal : AbortSignal.any([turn.signal, gates.signal]),
    idempotencyKey: gates?.idempotencyKey,
    decisionTimeoutMs: context.decisionTimeoutMs,
    unhandledErrors: context.unhandledErrors,
    resultBudget: context.resultBudget,
    timeouts: context.timeouts,
    upperBound: context.upperBound,
    embedder: context.embedder,
  } as DispatchContext;
}
