import { adopt, isThenable, type MaybePromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import {
  type AgentHooks,
  DEFAULT_DECISION_TIMEOUT_MS,
  type DispatchContext,
  type ToolStart,
} from "../call/context.ts";
import type { ToolCall } from "../call.ts";
import { cancelled, denial, Refusal } from "../refusal.ts";
import { type CallState, type PlacedCall, shownName } from "../state.ts";

/**
 * Asks the `onToolCall` hook, which sees the call as the model sent it.
 *
 * @returns `"abort"` if the hook aborts the call before it has begun.
 * @throws {Refusal} `permission_denied` if the hook denies the call, aborts it later or fails, `cancelled`.
 */
export function passGate(call: CallState): MaybePromise<"abort" | undefined> {
  const { received, ctx } = call;
  if (ctx.signal?.aborted) throw cancelled();
  if (ctx.hooks === undefined) return undefined;
  const { id, name, arguments: args } = received;
  return decide(
    received.isSuspended ? AGAIN : QUESTION,
    Object.freeze({ id, name, arguments: args }),
    shownName(call),
    ctx,
  );
}

const QUESTION: Question<ToolCall, "abort" | undefined> = {
  to: "hook",
  ask: (call, { hooks }) => (hooks as AgentHooks).onToolCall?.(call),
  read: (answer, tool) => (answer === "abort" ? answer : readVerdict(answer, tool)),
};

/** A call that an earlier process began cannot be left out any more: what it did is reported. */
const AGAIN: typeof QUESTION = {
  ...QUESTION,
  read: (answer, tool) => {
    if (answer === "abort") throw denial(tool, "hook", "the hook aborts a call that had begun");
    return readVerdict(answer, tool);
  },
};

/**
 * Asks the `onToolStart` hook, which sees the validated arguments and the grant.
 *
 * @throws {Refusal} `permission_denied` if the hook denies the call or fails, `cancelled`.
 */
export function passLastHook(call: PlacedCall): MaybePromise<undefined> {
  const { received, ctx, principal, input, grant } = call;
  const { hooks, sessionId } = ctx;
  if (hooks === undefined) return undefined;
  const { id: callId, name: toolName } = received;
  const start: ToolStart =
    principal === undefined
      ? { callId, sessionId, toolName, input, grant }
      : { callId, sessionId, toolName, principal, input, grant };
  return decide(START_QUESTION, Object.freeze(start), shownName(call), ctx);
}

const START_QUESTION: Question<ToolStart, undefined> = {
  to: "hook",
  ask: (start, { hooks }) => (hooks as AgentHooks).onToolStart?.(start),
  read: readVerdict,
};

/**
 * Reads a hook's verdict: returns if the call may continue.
 *
 * @throws {Refusal} `permission_denied` if the hook denied the call, or returned anything else.
 */
export function readVerdict(verdict: unknown, tool: string): undefined {
  if (verdict === undefined || verdict === "continue") return;
  if (typeof verdict === "object" && verdict !== null && "deny" in verdict) {
    throw denial(tool, "hook", describeThrown(verdict.deny).detail);
  }
  throw denial(tool, "hook-failed", "the hook returned an invalid verdict");
}

/** A question to a hook or the policy, which are foreign code. One object serves all calls. */
export interface Question<About, Answer> {
  readonly to: "hook" | "policy";
  /** Calls the hook or policy. May throw. */
  ask(about: About, ctx: DispatchContext): unknown;
  /** Reads the answer. May throw a {@link Refusal} or any other error. */
  read(answer: unknown, tool: string): Answer;
}

/**
 * Asks a question and waits for the answer until `decisionTimeoutMs`. An error, a late answer and an invalid answer
 * all deny the call. A synchronous answer needs neither a timer nor a promise.
 *
 * @param tool The name of the tool, for the text.
 * @throws {Refusal} `permission_denied` or `cancelled`.
 */
export function decide<About, Answer>(
  question: Question<About, Answer>,
  about: About,
  tool: string,
  ctx: DispatchContext,
): MaybePromise<Answer> {
  try {
    const answer = question.ask(about, ctx);
    return isThenable(answer) ? answerInTime(answer, question, tool, ctx) : question.read(answer, tool);
  } catch (thrown) {
    throw asRefusal(thrown, question.to, tool);
  }
}

async function answerInTime<Answer>(
  answer: PromiseLike<unknown>,
  { to, read }: Question<never, Answer>,
  tool: string,
  { signal, decisionTimeoutMs = DEFAULT_DECISION_TIMEOUT_MS }: DispatchContext,
): Promise<Answer> {
  try {
    // Read first, so that no answer is taken for the end of the race.
    const reading = adopt(answer).then((value) => read(value, tool));
    const end = await race(reading, { timeoutMs: decisionTimeoutMs, signals: [signal] });
    if (end === "aborted") throw cancelled();
    if (end === "timeout") throw failed(to, tool, `no decision within ${decisionTimeoutMs} ms`);
    return end;
  } catch (thrown) {
    throw asRefusal(thrown, to, tool);
  }
}

function asRefusal(thrown: unknown, to: "hook" | "policy", tool: string): Refusal {
  return Refusal.is(thrown) ? thrown : failed(to, tool, describeThrown(thrown).detail);
}

function failed(to: "hook" | "policy", tool: string, reason: string): Refusal {
  return denial(tool, `${to}-failed`, reason);
}
