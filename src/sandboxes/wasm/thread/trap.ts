import { LiftBudgetError } from "../abi/lift-budget.ts";
import { AbiError } from "../abi/value.ts";
import { ArgumentError } from "../exports/json.ts";
import { CapabilityDeniedError, MisuseError } from "../host/interface-members.ts";
import { ExitError } from "../host/wasi/host.ts";
import { JcoError } from "../instance/jco/jco-value.ts";

/** Why a component did not return a result. */
export type Trap =
  | {
      readonly status: "trapped";
      /** For the model. */
      readonly message: string;
      /** For the operator. */
      readonly detail: string;
    }
  /** It used a denied interface or misused one, exited, or was not called because the arguments are invalid. */
  | { readonly status: "refused" /** For the model. */; readonly message: string }
  | { readonly status: "lifted-too-much"; readonly limit: LiftBudgetError["limit"] };

/** Converts what a call of a component threw. */
export function readTrap(thrown: unknown): Trap {
  if (thrown instanceof LiftBudgetError) return { status: "lifted-too-much", limit: thrown.limit };
  if (
    thrown instanceof CapabilityDeniedError ||
    thrown instanceof ExitError ||
    thrown instanceof MisuseError ||
    thrown instanceof ArgumentError
  ) {
    return { status: "refused", message: thrown.message };
  }
  const detail = thrown instanceof Error ? String(thrown.stack) : `a ${typeof thrown} was thrown`;
  return { status: "trapped", message: describe(thrown), detail };
}

function describe(thrown: unknown): string {
  // V8's messages for traps are a closed set that the component cannot influence.
  if (thrown instanceof WebAssembly.RuntimeError) return `Tool trapped: ${thrown.message}`;
  if (thrown instanceof RangeError && thrown.message === "Maximum call stack size exceeded") {
    return "Tool trapped: call stack exhausted";
  }
  if (thrown instanceof WebAssembly.Exception) return "Tool trapped: uncaught exception";
  if (thrown instanceof AbiError) return `Tool violated the component ABI: ${thrown.message}`;
  if (thrown instanceof JcoError) return `Tool trapped in the engine 'jco': ${thrown.message}`;
  // An import of a core instance does not fit. The names in V8's message were checked.
  if (thrown instanceof WebAssembly.LinkError) return `Tool cannot be instantiated: ${thrown.message}`;
  if (thrown instanceof RangeError) return "Tool trapped: out of memory, or a number is out of range";
  return "Tool failed because of an internal error of the sandbox, which the operator can read";
}
