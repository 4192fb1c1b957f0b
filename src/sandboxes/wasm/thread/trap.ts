import { AbiError } from "../abi/abi-error.ts";
import { LiftBudgetError } from "../abi/lift-budget.ts";
import { ArgumentError } from "../exports/argument-error.ts";
import { CapabilityDeniedError } from "../host/denied.ts";
import { ExitError } from "../host/wasi/host.ts";

/** Why a component did not answer. */
export type Trap =
  | {
      readonly status: "trapped";
      /** For the model. */
      readonly message: string;
      /** For the operator. */
      readonly detail: string;
    }
  /** It wanted what it may not have, did not want to answer, or was not called. */
  | { readonly status: "refused" /** For the model. */; readonly message: string }
  | { readonly status: "lifted-too-much" };

/** Reads what came out of a component instead of an answer. */
export function readTrap(thrown: unknown): Trap {
  if (thrown instanceof LiftBudgetError) return { status: "lifted-too-much" };
  if (
    thrown instanceof CapabilityDeniedError ||
    thrown instanceof ExitError ||
    thrown instanceof ArgumentError
  ) {
    return { status: "refused", message: thrown.message };
  }
  const detail = thrown instanceof Error ? String(thrown.stack) : `a ${typeof thrown} was thrown`;
  return { status: "trapped", message: describe(thrown), detail };
}

function describe(thrown: unknown): string {
  // V8's own words for a trap: a closed set, in which nothing of the component stands.
  if (thrown instanceof WebAssembly.RuntimeError) return `Tool trapped: ${thrown.message}`;
  if (thrown instanceof RangeError && thrown.message === "Maximum call stack size exceeded") {
    return "Tool trapped: its call stack is exhausted";
  }
  if (thrown instanceof WebAssembly.Exception)
    return "Tool trapped: it threw an exception and did not catch it";
  if (thrown instanceof AbiError) return `Tool broke the contract of a component: ${thrown.message}`;
  return "Tool broke the contract of a component: what it handed over is not of the declared type";
}
