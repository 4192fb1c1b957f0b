import type { ResourceLimits } from "../policy/grant/limits.ts";
import type { SandboxOutcome } from "../sandboxes/contract/outcome.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import { changesNothing } from "../tool/side-effects.ts";
import {
  CANCELLED_TEXT,
  type DispatchFailure,
  executionErrorText,
  limitExceededText,
  lostSandboxText,
  neverBeganText,
  redactedText,
  timeoutText,
  unavailableText,
} from "./errors.ts";
import { type StartedCall, shownName } from "./state.ts";

/** How a sandbox ends a call that did not complete. */
type FailedOutcome = Exclude<SandboxOutcome, { readonly status: "completed" }>;

let random: typeof import("node:crypto").randomBytes | undefined;

/**
 * Converts the outcome of a call that failed: it gets its code, and its text for the model.
 *
 * @param limits Those that the sandbox enforced.
 * @throws {TypeError} if the outcome is not one.
 */
export function readFailure(
  call: StartedCall,
  outcome: FailedOutcome,
  limits: ResourceLimits,
): DispatchFailure {
  const failure = describe(outcome, shownName(call), call.grant.sandbox, limits);
  return outcome.status === "failed" && outcome.unhandled === true
    ? redact(call, failure, outcome.systemCode)
    : failure;
}

function describe(
  outcome: FailedOutcome,
  tool: string,
  sandbox: SandboxMode,
  limits: ResourceLimits,
): DispatchFailure {
  const { effect, detail } = outcome;
  const fail = (
    code: DispatchFailure["code"],
    message: string,
    { userVisible = true, ...more }: Partial<DispatchFailure> = {},
  ): DispatchFailure => ({
    code,
    message,
    effect,
    userVisible,
    ...more,
    ...(detail !== undefined && { detail }),
    // Another process or the tool itself refused the arguments, in its own words.
    ...(code === "validation_error" && { problems: [{ path: "", message }] }),
  });
  switch (outcome.status) {
    case "failed":
      return fail(outcome.code ?? "execution_error", executionErrorText(outcome.message), {
        userVisible: outcome.userVisible === true,
      });
    case "timeout":
      return fail(
        "timeout",
        outcome.hasBegun === false
          ? neverBeganText(tool, outcome.used.waitedMs ?? outcome.used.wallTimeMs)
          : timeoutText(limits.wallTimeMs ?? 0),
      );
    case "cancelled":
      return fail("cancelled", CANCELLED_TEXT);
    case "limit_exceeded":
      return fail("limit_exceeded", outcome.message ?? limitExceededText(outcome.limit, limits), {
        limit: outcome.limit,
      });
    case "unavailable":
      return fail("sandbox_unavailable", textOfUnavailable(outcome, tool, sandbox));
    case "refused":
      return fail(outcome.reason, executionErrorText(outcome.message));
    default:
      // An embedder's sandbox may break its contract; without this, the call would count as a success.
      throw new TypeError("the sandbox returned no outcome");
  }
}

function textOfUnavailable(
  { hasWaited, effect, used }: Extract<SandboxOutcome, { readonly status: "unavailable" }>,
  tool: string,
  sandbox: SandboxMode,
): string {
  if (hasWaited) return neverBeganText(tool, used.waitedMs ?? 0);
  return effect === "none" ? unavailableText(tool, sandbox) : lostSandboxText(tool, sandbox);
}

/**
 * Replaces what a function of the embedder threw and did not mean for the model by a reference, under which the event has it,
 * unless the tool or the context says otherwise.
 */
function redact(
  { ctx, registered }: StartedCall,
  failure: DispatchFailure,
  systemCode: string | undefined,
): DispatchFailure {
  const { unhandledErrors = ctx.unhandledErrors ?? "redacted" } = registered.tool;
  if (unhandledErrors === "message") return failure;
  const reference = newReference();
  return { ...failure, message: redactedText(reference, systemCode), userVisible: true, reference };
}

/** Returns a reference by which an operator finds what the model must not read: six hexadecimal digits. */
function newReference(): string {
  // Loaded on first use: that takes half as long as loading this whole package.
  random ??= process.getBuiltinModule("node:crypto").randomBytes;
  return random(3).toString("hex");
}

/**
 * A host tool of the class `none` or `read` changes nothing, even when it fails: its effect is `none` once it
 * has ended. The embedder declares the class, and the tool is code of the embedder. Changes that were seen
 * count more. Sandboxes that confine a tool know by themselves what it could have changed.
 */
export function withEffect(
  call: StartedCall,
  outcome: SandboxOutcome,
  failure: DispatchFailure,
): DispatchFailure {
  if (failure.effect === "none" || call.grant.sandbox !== "host") return failure;
  if (!changesNothing(call.registered.subject.sideEffects) || !hasEnded(outcome)) return failure;
  if (outcome.changes !== undefined && outcome.changes.files.length > 0) return failure;
  return { ...failure, effect: "none" };
}

function hasEnded({ status, mayStillRun }: SandboxOutcome): boolean {
  return mayStillRun !== true && status !== "timeout" && status !== "cancelled";
}
