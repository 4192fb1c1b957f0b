import { adopt, isThenable } from "../sandboxes/thenable.ts";
import { describeThrown } from "../sandboxes/thrown.ts";
import { DEFAULT_DECISION_TIMEOUT_MS, type DispatchContext } from "./context.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { cancelled, denial, Refusal } from "./refusal.ts";

/** A question to a hook or the policy: somebody else's code. */
export interface Question<T> {
  readonly to: "hook" | "policy";
  /** The name of the tool, for the text. */
  readonly tool: string;
  /** Asks; may throw. */
  ask(): unknown;
  /** Reads the answer; may throw, also a {@link Refusal}. */
  read(answer: unknown): T;
}

/**
 * Asks a question, and waits no longer than the answer may take. Whoever throws, takes too long, or answers
 * what cannot be read has denied. An answer that comes at once costs no timer; one that comes too late is
 * dropped.
 *
 * @throws {Refusal} `permission_denied` or `cancelled`.
 */
export function decide<T>(question: Question<T>, ctx: DispatchContext): MaybePromise<T> {
  try {
    const answer = question.ask();
    return isThenable(answer) ? answerInTime(answer, question, ctx) : question.read(answer);
  } catch (thrown) {
    throw asRefusal(thrown, question);
  }
}

function answerInTime<T>(
  answer: PromiseLike<unknown>,
  question: Question<T>,
  { signal, decisionTimeoutMs = DEFAULT_DECISION_TIMEOUT_MS }: DispatchContext,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const expire = (): void => reject(failed(question, `no decision within ${decisionTimeoutMs} ms`));
    const cancel = (): void => reject(cancelled());
    const timer = setTimeout(expire, decisionTimeoutMs);
    signal?.addEventListener("abort", cancel, { once: true });
    adopt(answer)
      .then((value) => resolve(question.read(value)))
      .catch((thrown: unknown) => reject(asRefusal(thrown, question)))
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
      });
  });
}

function asRefusal(thrown: unknown, question: Question<unknown>): Refusal {
  return Refusal.is(thrown) ? thrown : failed(question, describeThrown(thrown).detail);
}

function failed({ to, tool }: Question<unknown>, reason: string): Refusal {
  return denial(tool, `${to}-failed`, reason);
}
