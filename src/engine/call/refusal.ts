import { describeThrown } from "../../base/thrown.ts";
import type { CallEffect } from "../../sandboxes/contract/sandbox.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import {
  CANCELLED_TEXT,
  type DenialCause,
  type DispatchFailure,
  deniedText,
  type ErrorCode,
  UNKNOWN_FAILURE_TEXT,
  unavailableText,
} from "./errors.ts";

/** Ends a call before its sandbox has it: nothing ran, so its effect is `none`. */
export class Refusal extends Error {
  readonly failure: DispatchFailure;
  readonly #brand = true;

  /** Tells a refusal from whatever else was thrown, without running any code of it. */
  static is(thrown: unknown): thrown is Refusal {
    return typeof thrown === "object" && thrown !== null && #brand in thrown;
  }

  constructor(code: ErrorCode, message: string, detail?: string) {
    super(message);
    this.failure = { code, message, effect: "none", ...(detail !== undefined && { detail }) };
  }
}

/** A refusal by a hook or the policy; the reason is for the operator. */
export function denial(tool: string, cause: DenialCause, reason: string): Refusal {
  return new Refusal("permission_denied", deniedText(tool, cause), reason);
}

/** A refusal because the granted sandbox cannot take the call. */
export function unavailable(tool: string, sandbox: SandboxMode, reason: string): Refusal {
  return new Refusal("sandbox_unavailable", unavailableText(tool, sandbox), reason);
}

/** A refusal because the embedder cancelled the call. */
export function cancelled(): Refusal {
  return new Refusal("cancelled", CANCELLED_TEXT);
}

/** Why a call failed, whatever ended it; `effect` is what anything but a refusal left behind. */
export function failureOf(thrown: unknown, effect: CallEffect): DispatchFailure {
  if (Refusal.is(thrown)) return thrown.failure;
  const { detail } = describeThrown(thrown);
  return { code: "execution_error", message: UNKNOWN_FAILURE_TEXT, effect, detail };
}
