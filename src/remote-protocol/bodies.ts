import { canonicalText } from "../json/canonical.ts";
import { parseJson } from "../json/parse.ts";
import { parseAnswer } from "../json/parse-answer.ts";
import { type JsonValue, JsonValueError } from "../json/value.ts";
import { checkCapabilities } from "../policy/grant/capabilities.ts";
import { checkLimits } from "../policy/grant/limits.ts";
import type { ProblemBody } from "./problems.ts";
import {
  type DispatchRequest,
  type RemoteExecution,
  type RemoteGrant,
  type RemoteResult,
  type RemoteTools,
  type ShapeName,
  shapeProblem,
} from "./shapes.ts";

/** A body violates the protocol. The message describes the problem without repeating any of the body. */
export class BodyError extends Error {
  override readonly name = "BodyError";
}

/** A call, as its caller has it. */
export interface WrittenCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as canonical JSON text (RFC 8785), which the caller has already. */
  readonly argumentsText: string;
}

/** Writes the body of a dispatch request. */
export function writeDispatchRequest(
  call: WrittenCall,
  session: string,
  { limits, capabilities }: RemoteGrant,
  timeoutMs?: number,
  sending: Pick<DispatchRequest, "executor" | "again"> = {},
): string {
  const head = `{"call":{"id":${JSON.stringify(call.id)},"name":${JSON.stringify(call.name)}`;
  const rest = JSON.stringify({ session, grant: { limits, capabilities }, timeoutMs, ...sending });
  return `${head},"arguments":${call.argumentsText}},${rest.slice(1)}`;
}

/**
 * Reads the body of a dispatch request in an executor.
 *
 * @throws {BodyError} if it is not valid.
 */
export function readDispatchRequest(text: string): DispatchRequest {
  const parsed = parseJson(text);
  if (!("value" in parsed)) {
    const { kind, reason, position } = parsed;
    throw new BodyError(
      `${kind === "syntax" ? "invalid JSON" : "refused"}: ${reason} at position ${position}`,
    );
  }
  const request = shaped<DispatchRequest>("DispatchRequest", parsed.value);
  try {
    const grant = {
      limits: checkLimits(request.grant.limits),
      capabilities: checkCapabilities(request.grant.capabilities),
    };
    return { ...request, grant };
  } catch (error) {
    if (error instanceof TypeError) throw new BodyError(`/grant: ${error.message}`);
    throw error;
  }
}

/**
 * Reads an execution in a client: a response body, or the data of an `execution` event. Deeply frozen.
 *
 * @throws {BodyError} if it is not valid.
 */
export function readExecution(text: string): RemoteExecution {
  return consistent(readShaped<RemoteExecution>("Execution", text));
}

/**
 * Reads the execution of a known call. Like {@link readExecution}, but skips the members that repeat the
 * call.
 *
 * @returns `undefined` if the execution belongs to another call.
 * @throws {BodyError} if it is not valid.
 */
export function readResultOf(
  { id, name, argumentsText }: WrittenCall,
  text: string,
): RemoteResult | undefined {
  // Executors usually write the members in this order.
  const known = `{"callId":${JSON.stringify(id)},"toolName":${JSON.stringify(name)},"arguments":${argumentsText},`;
  if (text.startsWith(known)) {
    return consistent(readShaped<RemoteResult>("ExecutionResult", `{${text.slice(known.length)}`));
  }
  const execution = readExecution(text);
  const { callId, toolName, arguments: args } = execution;
  return callId === id && toolName === name && canonicalText(args) === argumentsText ? execution : undefined;
}

function consistent<Result extends RemoteResult>(result: Result): Result {
  if (result.success === (result.error === undefined)) return result;
  throw new BodyError("/success contradicts /error");
}

/**
 * Reads the body of a problem, with any code: servers that have more than an executor have reasons of their own. Deeply
 * frozen.
 *
 * @throws {BodyError} if it is not valid.
 */
export function readProblem(text: string): ProblemBody {
  return readShaped("AnyProblem", text);
}

/**
 * Reads a list of tools. Deeply frozen.
 *
 * @throws {BodyError} if it is not valid.
 */
export function readTools(text: string): RemoteTools {
  return readShaped("Tools", text);
}

/**
 * Reads a body, and checks its shape. Deeply frozen.
 *
 * @throws {BodyError} if it is not valid JSON, or does not have the shape.
 */
export function readShaped<Body>(name: ShapeName, text: string): Body {
  try {
    return shaped(name, parseAnswer(text, { duplicateKeys: "refuse" }));
  } catch (error) {
    if (error instanceof SyntaxError) throw new BodyError("invalid JSON");
    if (error instanceof JsonValueError) throw new BodyError(error.message);
    throw error;
  }
}

function shaped<Body>(name: ShapeName, value: JsonValue): Body {
  const problem = shapeProblem(name, value);
  if (problem !== undefined) throw new BodyError(problem);
  return value as unknown as Body;
}
