import { parseJson } from "../json/parse.ts";
import { freezeJson, type JsonValue, JsonValueError } from "../json/value.ts";
import { checkCapabilities } from "../policy/capabilities.ts";
import { checkLimits } from "../policy/limits.ts";
import type { DispatchRequest, RemoteExecution, RemoteGrant, RemoteTools } from "./messages.ts";
import type { ProblemBody } from "./problems.ts";
import { type ShapeName, shapeProblem } from "./shapes.ts";

/** A body is not what the protocol says. The message says what is wrong, and repeats nothing of the body. */
export class BodyError extends Error {
  override readonly name = "BodyError";
}

/**
 * Writes the body of a dispatch.
 *
 * @param call.argumentsText The arguments as JSON text: canonical text need not be written twice.
 */
export function writeDispatchRequest(
  call: { readonly id: string; readonly name: string; readonly argumentsText: string },
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
  const execution = readShaped<RemoteExecution>("Execution", text);
  if (execution.success === (execution.error === undefined)) return execution;
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
