import { describeThrown } from "../sandboxes/thrown.ts";
import { DEFAULT_DECISION_TIMEOUT_MS, type DispatchContext } from "./context.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { cancelled, denial } from "./refusal.ts";

/**
 * Asks a hook or the policy, which are somebody else's code, and waits no longer than they may take. Whoever
 * throws or takes too long has denied. An answer that comes at once costs no timer; one that comes too late
 * is dropped.
 *
 * @throws {Refusal} `permission_denied` or `cancelled`.
 */
export function decide<T>(
  ask: () => T,
  who: "hook-failed" | "policy-failed",
  tool: string,
  ctx: DispatchContext,
): MaybePromise<Awaited<T>> {
  try {
    const answer = ask();
    return isThenable(answer) ? inTime(answer, who, tool, ctx) : (answer as Awaited<T>);
  } catch (thrown) {
    throw denial(tool, who, describeThrown(thrown).detail);
  }
}

function inTime<T>(
  answer: T,
  who: "hook-failed" | "policy-failed",
  tool: string,
  { signal, decisionTimeoutMs = DEFAULT_DECISION_TIMEOUT_MS }: DispatchContext,
): Promise<Awaited<T>> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(cancelled());
    const timer = setTimeout(
      () => reject(denial(tool, who, `no decision within ${decisionTimeoutMs} ms`)),
      decisionTimeoutMs,
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    Promise.resolve(answer)
      .then(resolve, (thrown) => reject(denial(tool, who, describeThrown(thrown).detail)))
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      });
  });
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
