import type { MaybePromise } from "../../base/promises.ts";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type {
  ConfirmationAnswer,
  ConfirmationRequest,
  QuestionReply,
  QuestionRequest,
} from "../../engine/call/confirmation.ts";
import type { ChangeStaging, DispatchContext } from "../../engine/call/context.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { ReceivedCall } from "../../engine/call.ts";
import type { Refusal } from "../../engine/refusal.ts";
import { continueTrace } from "../../engine/reporting/reporter.ts";
import type { JsonValue } from "../../json/value.ts";
import type { CallHistory, CallLedger } from "../../policy/call-history.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import { type CallIdentity, identityOf } from "../../record/identity.ts";
import type { CallKey, ConfirmationRecord } from "../confirmations/confirmation.ts";
import type { Confirmer } from "../confirmations/confirmation-broker.ts";
import type { CallGates } from "../durable-runtime.ts";
import { MessageLedger } from "../ledger/message-ledger.ts";
import { stagesChanges } from "../levels.ts";
import type { Quotas } from "../quotas.ts";
import { askPerson } from "./call-confirmation.ts";
import { CallRun, type MessageCall } from "./call-run.ts";
import type { MessageContext, SessionCore, TurnCore, UnderWay } from "./core.ts";
import { withdrawnExecution } from "./ended-calls.ts";
import { eventsOf, type RecordedMessage, recorderOf } from "./message-recorder.ts";
import { MessageSuspensions } from "./message-suspensions.ts";
import { modesOf, SessionPolicy } from "./session-policy.ts";
import { askQuestion } from "./tool-question.ts";

/** Options of {@link MessageRun}. */
export interface MessageRunOptions {
  /** Where a durable runtime stops the only call. Default: nothing does. */
  readonly gates?: CallGates;
  /** The trace that its calls belong to. Default: each begins one of its own. */
  readonly trace?: TraceHeaders | undefined;
}

/** One assistant message while its calls are dispatched: their common context, and their identities. */
export class MessageRun implements RecordedMessage, UnderWay {
  readonly session: SessionCore;
  readonly turn: TurnCore;
  readonly id: string;
  readonly calls: readonly CallRun[];
  readonly context: DispatchContext;
  readonly refusal: Refusal | undefined;
  readonly confirmations: Confirmer;
  readonly gates: CallGates | undefined;
  /** How many of the calls have no result yet. */
  #left: number;
  /** `undefined` if no policy used the history when the message came. */
  readonly ledger: MessageLedger | undefined;
  /** `undefined` if calls end with the process. */
  readonly #suspensions: MessageSuspensions | undefined;
  /** The calls whose changes must be staged; `undefined` if there are none. */
  #staged: Set<string> | undefined;

  constructor(
    turn: TurnCore,
    id: string,
    calls: readonly MessageCall[],
    { gates, trace }: MessageRunOptions = {},
  ) {
    const { session } = turn;
    this.gates = gates;
    this.confirmations = gates?.confirmations ?? session.confirmations;
    this.session = session;
    this.turn = turn;
    this.id = id;
    this.calls = calls.map((call) => new CallRun(call, this));
    this.#left = calls.length;
    this.refusal = session.admitMessage();
    const { policy, ledger, principal, origin, store } = session;
    const { suspensions, tracer } = session.settings.context;
    // Without a store, no process would continue the call.
    if (suspensions !== undefined && store !== undefined) {
      this.#suspensions = new MessageSuspensions(
        suspensions,
        () => session.isSuspended,
        (callId) => this.suspendSlot(callId),
        gates && (() => gates.connected),
      );
    }
    if (policy.usesHistory === true) {
      // The calls of an agent are calls of the turn in which a person had it begin.
      const entered = origin?.root ?? { session, turn };
      this.ledger = new MessageLedger({
        sessionId: entered.session.id,
        turnId: entered.turn.id,
        principal: principal?.id,
        turn: turn.ledger,
        session: ledger,
        isShared: entered.session.durable !== undefined,
      });
    }
    this.context = messageContext(turn, id, {
      policy: new SessionPolicy(this),
      confirm: (request, signal) => this.#confirm(request, signal),
      ask: (request, signal) => this.#ask(request, signal),
      stageChanges: (callId) => this.#stagingOf(callId),
      journal: recorderOf(this),
      events: eventsOf(this),
      tracer: tracer && trace ? continueTrace(tracer, trace) : tracer,
      suspensions: this.#suspensions,
      ...(gates !== undefined && { gates }),
    });
  }

  /** Runs the only call of the message. */
  runFirst(): Promise<ToolExecution | null> {
    this.turn.begin(this);
    return (this.calls[0] as CallRun).start();
  }

  /** Runs all calls. Their results are in the order of the calls. */
  runAll(): Promise<(ToolExecution | null)[]> {
    if (this.#left > 0) this.turn.begin(this);
    return Promise.all(this.calls.map((call) => call.start()));
  }

  endCall(): void {
    if (--this.#left === 0) this.turn.end(this);
  }

  abandon(): void {
    for (const call of this.calls) call.abandon();
  }

  stageCall(callId: string): void {
    this.#staged ??= new Set();
    this.#staged.add(callId);
  }

  /** The changes of a call that was decided on while changes were staged are staged, even if the mode has changed since. */
  #stagingOf(callId: string): ChangeStaging | undefined {
    const { session } = this;
    const isRequired = this.#staged?.has(callId) === true;
    const isStaged = isRequired || modesOf(session).some(({ base }) => stagesChanges(base));
    return isStaged ? { open: session.stageChanges, isRequired } : undefined;
  }

  suspendSlot(callId: string): () => Promise<void> {
    const run = this.#runOf(callId);
    run?.suspendSlot();
    return async () => run?.resumeSlot();
  }

  /** A call releases its slot while it waits for its answer. A nested call has no slot, and its caller's is not released. */
  #confirm(request: ConfirmationRequest, signal: AbortSignal): Promise<ConfirmationAnswer> {
    const run = request.parent === undefined ? this.#runOf(request.callId) : undefined;
    if (run === undefined) return askPerson(this, request, signal);
    run.releaseSlot();
    return askPerson(this, request, signal).then(async (answer) => {
      if (answer.decision === "allow") await run.reacquireSlot();
      return answer;
    });
  }

  /**
   * A call releases the slot of the session while it waits for the answer to its question. It does not release the slot of
   * its tool: other calls of a tool that allows one at a time would find it half done.
   */
  async #ask(request: QuestionRequest, signal: AbortSignal): Promise<QuestionReply> {
    const run = request.parent === undefined ? this.#runOf(request.callId) : undefined;
    run?.suspendSlot();
    try {
      return await askQuestion(this, request, signal);
    } finally {
      await run?.resumeSlot();
    }
  }

  isRunning(callId: string): boolean {
    return this.#runOf(callId)?.hasEnded === false;
  }

  #runOf(callId: string): CallRun | undefined {
    return this.calls.find(({ received }) => received.id === callId);
  }

  historyOf(request: PolicyRequest): CallHistory | undefined {
    const { session, turn } = this;
    if (this.ledger === undefined) {
      turn.markMissing();
      session.ledger.markMissing();
      session.ledger.ledgers.markMissing();
      return turn.history;
    }
    return withLedger(turn.history, this.ledger.begin(request));
  }

  historyOfEdit(callId: string): CallHistory | undefined {
    return withLedger(this.turn.history, this.ledger?.without(callId));
  }

  askedBefore(callId: string): MaybePromise<readonly ConfirmationRecord[]> {
    return this.confirmations.earlier(this.#keyOf(callId));
  }

  #keyOf(callId: string): CallKey {
    return { sessionId: this.session.id, turnId: this.turn.id, messageId: this.id, callId };
  }

  /** Counts a call that the policy does not deny. */
  count({ callId, tool, input }: PolicyRequest, quotas: Quotas): Promise<void> | undefined {
    const counted = quotas.count(tool.name, () => this.#countedAs(callId, tool.name, input));
    return counted instanceof Promise ? counted : undefined;
  }

  /**
   * Identifies a call of the message.
   *
   * @param name Of the tool, and `input` its arguments: of a nested call, which the message does not have.
   */
  identityOf(callId: string, name: string, input: JsonValue): CallIdentity {
    const run = this.#runOf(callId);
    if (run === undefined) return this.#newIdentity({ id: callId, name, arguments: input });
    run.identity ??= this.#newIdentity(run.received);
    return run.identity;
  }

  /** A call of an agent counts as one that the tool of a person's call makes. */
  #countedAs(callId: string, name: string, input: JsonValue): CallIdentity {
    const { id, origin } = this.session;
    if (origin === undefined) return this.identityOf(callId, name, input);
    const { session, turn, messageId, callId: root } = origin.root;
    const counted = { id: `${root}/${id}/${this.turn.id}/${this.id}/${callId}`, name, arguments: input };
    return identityOf({ session, turnId: turn.id, messageId }, counted);
  }

  #newIdentity(call: Parameters<typeof identityOf>[1]): CallIdentity {
    return identityOf({ session: this.session, turnId: this.turn.id, messageId: this.id }, call);
  }

  goesOn(parent: string | undefined): boolean {
    const { isSuspended, store } = this.session;
    return isSuspended && store !== undefined && (parent === undefined || this.isSuspended(parent));
  }

  isSuspended(callId: string): boolean {
    return this.session.isSuspended && this.#suspensions?.isWaiting(callId) === true;
  }

  isLost(callId: string): boolean {
    return this.gates !== undefined && this.#suspensions?.isLost(callId) === true;
  }

  /** Whether a call is suspended, since the process is ending, and continues in another one. */
  hasLeft(callId: string): boolean {
    return this.#suspensions?.hasLeft(callId) === true;
  }

  /** Stores the result of a call, if there is a store and the call does not continue after a restart. */
  store(received: ReceivedCall, result: ToolExecution | null): Promise<void> | undefined {
    const { store } = this.session;
    // A durable runtime stores it.
    if (this.gates !== undefined) return undefined;
    const isLeft = isUndone(result) || this.hasLeft(received.id);
    if (store === undefined || (this.session.isSuspended && isLeft)) return undefined;
    const identity = this.identityOf(received.id, received.name, received.arguments);
    // Confirmations of an earlier process that the call did not open again: no answer would count any more.
    void this.session.confirmations.abandon(this.#keyOf(received.id));
    if (received.isSuspended) void this.session.confirmations.abandonBelow(identity);
    const ended = store.end(identity, result ?? withdrawnExecution(received));
    return ended instanceof Promise ? ended : undefined;
  }
}

function withLedger(
  history: CallHistory | undefined,
  ledger: CallLedger | undefined,
): CallHistory | undefined {
  return history === undefined || ledger === undefined ? history : Object.freeze({ ...history, ledger });
}

/** Whether a call was cancelled before it began. */
function isUndone(result: ToolExecution | null): boolean {
  return result?.error?.code === "cancelled" && result.error.effect === "none";
}

/** Returns the context in which the calls of a message are dispatched. */
function messageContext(
  turn: TurnCore,
  messageId: string,
  { policy, confirm, ask, stageChanges, journal, events, tracer, suspensions, gates }: MessageContext,
): DispatchContext {
  const { session } = turn;
  const { context } = session.settings;
  // Written out: a spread would cost more than everything else in the session. Absent members have no effect.
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
