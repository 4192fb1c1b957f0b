import { copyJson } from "../json/copy.ts";
import { locateSyntaxError } from "../json/syntax-error.ts";
import { freezeJson, isJsonObject, type JsonValue, JsonValueError } from "../json/value.ts";
import { formatBytes } from "../policy/limits.ts";

/** A call as a model makes it. */
export interface ToolCall {
  /** The provider's id of the call; the result carries it back. */
  readonly id: string;
  readonly name: string;
  /** JSON text, or the value itself. */
  readonly arguments: JsonValue;
}

/** A call as it arrived: read once, so that it cannot change under the pipeline. Frozen. */
export interface ReceivedCall {
  readonly call: ToolCall;
  /** What makes the call unfit to go on, as a text for the model. */
  readonly problem: string | undefined;
}

/** The longest text of arguments, in UTF-16 code units. */
const MAX_TEXT_LENGTH = 16 * 1_024 * 1_024;

/** Reads a call from whatever it is given; never throws. */
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
    } = candidate as Partial<Record<keyof ToolCall, unknown>>;
    if (typeof givenId === "string") id = givenId;
    else problem = "Invalid tool call: the id must be a string";
    if (typeof givenName === "string") name = givenName;
    else problem = "Invalid tool call: the name must be a string";
    args = copyJson(given);
  } catch (error) {
    const reason = error instanceof JsonValueError ? error.message : "it cannot be read";
    problem ??= `Invalid arguments: ${reason}`;
  }
  return { call: Object.freeze({ id, name, arguments: args }), problem };
}

/** Arguments ready to be validated, or the text that tells the model why they are not. */
export type ParsedArguments = { readonly value: JsonValue } | { readonly problem: string };

/** Parses arguments that came as text; takes others as they are. The value is deeply frozen. */
export function parseArguments(args: JsonValue): ParsedArguments {
  if (typeof args !== "string") return { value: args };
  if (args.length > MAX_TEXT_LENGTH) {
    return { problem: `Invalid JSON: longer than ${formatBytes(MAX_TEXT_LENGTH)}` };
  }
  try {
    return { value: freezeJson(JSON.parse(args) as JsonValue) };
  } catch (error) {
    if (error instanceof JsonValueError) return { problem: `Invalid arguments: ${error.message}` };
    const located = locateSyntaxError(args);
    if (located === undefined) return { problem: "Invalid JSON: it cannot be read" };
    return { problem: `Invalid JSON: ${located.reason} at position ${located.position}` };
  }
}
