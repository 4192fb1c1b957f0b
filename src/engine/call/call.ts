import { CanonicalJson } from "../../json/canonical.ts";
import { isJsonObject, type JsonValue, JsonValueError } from "../../json/value.ts";
import { receiveArguments, unreadableText } from "../arguments/check-arguments.ts";

/** A tool call, as a model makes it. */
export interface ToolCall {
  /** The provider's id of the call, which its result repeats. */
  readonly id: string;
  readonly name: string;
  /** The arguments, as JSON text or as a JSON value. For a free-form tool, its input: a text that is not JSON. */
  readonly arguments: JsonValue;
  /** Set if the provider cut off the message after this call: see `ToolDispatchEngine.dispatchTurn`. */
  readonly cutOff?: true;
  /** Why the arguments cannot be used, as a text for the model. Such a call fails with `validation_error`. */
  readonly problem?: string;
}

/** A call as it arrived. It is a copy, so the embedder cannot change it while it is dispatched. */
export interface ReceivedCall extends Pick<ToolCall, "id" | "name" | "arguments"> {
  /** Why the call is malformed, as a text for the model; `undefined` if it is well-formed. */
  readonly problem: string | undefined;
  /** Whether an earlier process suspended the call, so that it goes on from there. Never read from what a model sent. */
  readonly isSuspended?: true;
}

/** Reads a call from an unchecked value. Never throws. */
export function receiveCall(candidate: unknown): ReceivedCall {
  let id = "";
  let name = "";
  let args: JsonValue = null;
  let problem: string | undefined;
  try {
    if (!isJsonObject(candidate)) throw new JsonValueError("the call is not an object");
    const {
      id: givenId,
      name: givenName,
      arguments: given,
      problem: found,
    } = candidate as Partial<Record<keyof ToolCall, unknown>>;
    if (typeof givenId === "string") id = givenId;
    else problem = "Invalid tool call: the id must be a string";
    if (typeof givenName === "string") name = givenName;
    else problem = "Invalid tool call: the name must be a string";
    if (typeof found === "string") problem ??= found;
    args = receiveArguments(given);
  } catch (error) {
    problem ??= unreadableText(error);
  }
  return { id, name, arguments: args, problem };
}

/** Returns the digest by which a call of this tool with these arguments is known. */
export function callDigest({ name, arguments: args }: ReceivedCall): string {
  return new CanonicalJson({ name, arguments: args }).digest;
}
