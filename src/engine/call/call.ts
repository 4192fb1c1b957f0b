import { ARGUMENT_BOUNDS } from "../../json/bounds.ts";
import { copyJson } from "../../json/copy.ts";
import type { DuplicateKeys } from "../../json/duplicate-keys.ts";
import { parseJson } from "../../json/parse.ts";
import { isJsonObject, type JsonValue, JsonValueError } from "../../json/value.ts";

/** A tool call, as a model makes it. */
export interface ToolCall {
  /** The provider's id of the call, which its result repeats. */
  readonly id: string;
  readonly name: string;
  /** The arguments, as JSON text or as a JSON value. */
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
    // Text is checked when it is parsed, which gives positions; any other value is checked as it is copied here.
    args = typeof given === "string" ? given : copyJson(given);
  } catch (error) {
    const reason = error instanceof JsonValueError ? error.message : "it cannot be read";
    problem ??= `Invalid arguments: ${reason}`;
  }
  return { id, name, arguments: args, problem };
}

/** Arguments to validate, or a text that tells the model why they cannot be parsed. */
export type ParsedArguments = { readonly value: JsonValue } | { readonly problem: string };

/** Parses arguments that are text, and returns others unchanged. The value is deeply frozen. */
export function parseArguments(args: JsonValue, duplicateKeys?: DuplicateKeys): ParsedArguments {
  if (typeof args !== "string") return { value: args };
  const parsed = parseJson(args, ARGUMENT_BOUNDS, duplicateKeys);
  if ("value" in parsed) return parsed;
  const { kind, reason, position } = parsed;
  const what = kind === "syntax" ? "Invalid JSON" : "Invalid arguments";
  return { problem: `${what}: ${reason} at position ${position}` };
}

/** Returns a hint for the model if arguments were encoded as JSON twice, and otherwise `undefined`. */
export function doubleEncodingHint(value: JsonValue): string | undefined {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return undefined;
  return "the arguments are a string that holds JSON: send the object itself";
}
