import type { JsonObject, JsonValue } from "../json/value.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import type { CallEffect, SandboxOutcome } from "../sandboxes/contract/outcome.ts";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { contentProblem, contentText, isContentOutput } from "../tool/content.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import type { ModelReader, ToolTraits } from "../tool/tool-traits.ts";
import {
  CANCELLED_TEXT,
  type DispatchFailure,
  executionErrorText,
  invalidOutputText,
  limitExceededText,
  lostSandboxText,
  neverBeganText,
  timeoutText,
  unavailableText,
} from "./errors.ts";

/** A sandbox's outcome, converted for the conversation. */
export interface ReadOutcome {
  readonly output: JsonValue;
  readonly failure?: DispatchFailure;
  readonly metadata?: JsonObject;
}

/**
 * Converts an outcome: a failure gets its code and its text for the model.
 *
 * @param schema Of the output; `undefined` if the tool declares none.
 *
 * @throws {TypeError} if the outcome is not one.
 */
export function readOutcome(
  outcome: SandboxOutcome,
  tool: string,
  sandbox: SandboxMode,
  limits: ResourceLimits,
  schema: CompiledSchema | undefined,
): ReadOutcome {
  if (outcome.status === "completed") {
    const read = readOutput(outcome.output, outcome.effect);
    return schema === undefined || read.failure !== undefined
      ? read
      : checkOutput(read, schema, outcome.effect);
  }
  const failure = readFailure(outcome, tool, sandbox, limits);
  const metadata = outcome.status === "failed" ? outcome.metadata : undefined;
  return { output: null, failure, ...(metadata !== undefined && { metadata }) };
}

function readFailure(
  outcome: Exclude<SandboxOutcome, { status: "completed" }>,
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

/** Fails a call whose output is not what the tool declares. */
function checkOutput(read: ReadOutcome, schema: CompiledSchema, effect: CallEffect): ReadOutcome {
  const problems = schema.validate(read.output);
  if (problems === undefined) return read;
  const message = executionErrorText(invalidOutputText(problems));
  return { output: null, failure: { code: "execution_error", message, effect, userVisible: true } };
}

/** Splits an output with content into blocks for the model, metadata for the embedder, and a failure if it is one. */
function readOutput(output: JsonValue, effect: CallEffect): ReadOutcome {
  if (!isContentOutput(output)) {
    const problem = contentProblem(output);
    if (problem === undefined) return { output };
    // As JSON, the model would read images as base64, and metadata that are not for it.
    const message = executionErrorText(invalidOutputText([problem]));
    return { output: null, failure: { code: "execution_error", message, effect, userVisible: true } };
  }
  const { content, success = true, metadata } = output;
  return {
    output: Object.freeze({ content }) as unknown as JsonObject,
    ...(metadata !== undefined && { metadata }),
    ...(!success && {
      failure: {
        code: "execution_error",
        effect,
        userVisible: true,
        message: executionErrorText(contentText(content)),
      },
    }),
  };
}

/** Returns how the model reads an output, if the tool says so and it is no content. Never throws. */
export function modelTextOf(
  { modelText }: Pick<ToolTraits, "modelText">,
  output: JsonValue,
  reader: ModelReader,
): string | undefined {
  if (modelText === undefined || isContentOutput(output)) return undefined;
  try {
    const text: unknown = modelText(output as never, reader);
    return typeof text === "string" ? text : undefined;
  } catch {
    // The call has run: what it returned counts.
    return undefined;
  }
}
