import { adopt, isThenable, type MaybePromise } from "../base/promises.ts";
import { describeThrown } from "../base/thrown.ts";
import { race } from "../base/timers/race.ts";
import { DEFAULT_DECISION_TIMEOUT_MS, type DispatchContext } from "./call/context.ts";
import { cancelled, denial, Refusal } from "./refusal.ts";

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
