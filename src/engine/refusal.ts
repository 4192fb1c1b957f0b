import { describeThrown } from "../base/thrown.ts";
import type { CallEffect } from "../sandboxes/contract/outcome.ts";
import type { ArgumentProblem } from "../schema/arguments.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import {
  CANCELLED_TEXT,
  type DenialCause,
  type DispatchFailure,
  deniedText,
  type ErrorCode,
  UNKNOWN_FAILURE_TEXT,
  unavailableText,
} from "./errors.ts";

/** Thrown to end a call before it reaches its sandbox. Nothing ran, so its effect is `none`. */
export class Refusal extends Error {
  readonly failure: DispatchFailure;
  readonly #brand = true;

  /** Whether a thrown value is a refusal. Runs no code of the value, unlike `instanceof` with a proxy. */
  static is(thrown: unknown): thrown is Refusal {
    return typeof thrown === "object" && thrown !== null && #brand in thrown;
  }

  constructor(code: ErrorCode, message: string, more: Pick<DispatchFailure, "detail" | "problems"> = {}) {
    super(message);
    this.failure = { code, message, effect: "none", userVisible: true, ...more };
  }
}

/** A refusal of a call whose arguments, or the call itself, are not valid. */
export function invalid(message: string, problems: readonly ArgumentProblem[], detail?: string): Refusal {
  return new Refusal("validation_error", message, { problems, ...(detail !== undefined && { detail }) });
}

/** A refusal by a hook or the policy. The reason is only for the operator. */
export function denial(tool: string, cause: DenialCause, reason: string): Refusal {
  return new Refusal("permission_denied", deniedText(tool, cause), { detail: reason });
}

/** A refusal because the granted sandbox cannot run the call. */
export function unavailable(tool: string, sandbox: SandboxMode, reason: string): Refusal {
  return new Refusal("sandbox_unavailable", unavailableText(tool, sandbox), { detail: reason });
}

/** A refusal because the embedder cancelled the call. */
export function cancelled(): Refusal {
  return new Refusal("cancelled", CANCELLED_TEXT);
}

/** Converts a thrown value to a failure. `effect` is used unless the value is a refusal. */
export function failureOf(thrown: unknown, effect: CallEffect): DispatchFailure {
  if (Refusal.is(thrown)) return thrown.failure;
  const { detail } = describeThrown(thrown);
  return { code: "execution_error", message: UNKNOWN_FAILURE_TEXT, effect, userVisible: true, detail };
}
