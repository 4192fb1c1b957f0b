import { canonicalText } from "../json/canonical.ts";
import { parseJson } from "../json/parse.ts";
import { freezeJson, type JsonValue, JsonValueError } from "../json/value.ts";
import { checkCapabilities } from "../policy/grant/capabilities.ts";
import { checkLimits } from "../policy/grant/limits.ts";
import type { DispatchRequest, RemoteExecution, RemoteGrant, RemoteResult, RemoteTools } from "./messages.ts";
import type { ProblemBody } from "./problems.ts";
import { type ShapeName, shapeProblem } from "./shapes.ts";

/** A body is not what the protocol says. The message says what is wrong, and repeats nothing of the body. */
export class BodyError extends Error {
  override readonly name = "BodyError";
}

/** A call as its caller knows it. */
export interface WrittenCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as canonical JSON text (RFC 8785), which need not be written twice. */
  readonly argumentsText: string;
}

/** Writes the body of a dispatch. */
export function writeDispatchRequest(
  call: WrittenCall,
  session: string,
  { limits, capabilities }: RemoteGrant,
  timeoutMs?: number,
): string {
  const head = `{"call":{"id":${JSON.stringify(call.id)},"name":${JSON.stringify(call.name)}`;
  const rest = JSON.stringify({ session, grant: { limits, capabilities }, timeoutMs });
  return `${head},"arguments":${call.argumentsText}},${rest.slice(1)}`;
}

/**
 * Reads the body of a dispatch, as an executor does. Frozen.
 *
 * @throws {BodyError}
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
 * Reads an execution, as a caller does: also the data of the event `execution`. Deeply frozen.
 *
 * @throws {BodyError}
 */
export function readExecution(text: string): RemoteExecution {
  return consistent(readShaped<RemoteExecution>("Execution", text));
}

/**
 * Reads the execution of a call, as {@link readExecution} does, and nothing of it that its caller knows already.
 *
 * @returns `undefined` when it is of another call.
 * @throws {BodyError}
 */
export function readResultOf(
  { id, name, argumentsText }: WrittenCall,
  text: string,
): RemoteResult | undefined {
  // What was sent in this order mostly comes back in it.
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
 * Reads what a problem's answer says. Deeply frozen.
 *
 * @throws {BodyError}
 */
export function readProblem(text: string): ProblemBody {
  return readShaped("Problem", text);
}

/**
 * Reads a list of tools. Deeply frozen.
 *
 * @throws {BodyError}
 */
export function readTools(text: string): RemoteTools {
  return readShaped("Tools", text);
}

/**
 * Reads a body of a shape. Deeply frozen.
 *
 * @throws {BodyError}
 */
export function readShaped<Body>(name: ShapeName, text: string): Body {
  try {
    return shaped(name, freezeJson(JSON.parse(text) as JsonValue));
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
