import { copyJson } from "../../json/copy.ts";
import { parseJson } from "../../json/parse.ts";
import { isJsonObject, type JsonValue, JsonValueError } from "../../json/value.ts";

/** A call as a model makes it. */
export interface ToolCall {
  /** The provider's id of the call; the result carries it back. */
  readonly id: string;
  readonly name: string;
  /** JSON text, or the value itself. */
  readonly arguments: JsonValue;
}

/** A call as it arrived: read once, so that it cannot change under the pipeline. */
export interface ReceivedCall extends ToolCall {
  /** What makes the call unfit to go on, as a text for the model. */
  readonly problem: string | undefined;
}

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
    // A text is looked at when it is parsed, with positions; whatever else it is, this is its only copy.
    args = typeof given === "string" ? given : copyJson(given);
  } catch (error) {
    const reason = error instanceof JsonValueError ? error.message : "it cannot be read";
    problem ??= `Invalid arguments: ${reason}`;
  }
  return { id, name, arguments: args, problem };
}

/** Arguments ready to be validated, or the text that tells the model why they are not. */
export type ParsedArguments = { readonly value: JsonValue } | { readonly problem: string };

/** Parses arguments that came as text; takes others as they are. The value is deeply frozen. */
export function parseArguments(args: JsonValue): ParsedArguments {
  if (typeof args !== "string") return { value: args };
  const parsed = parseJson(args);
  if ("value" in parsed) return parsed;
  const { kind, reason, position } = parsed;
  const what = kind === "syntax" ? "Invalid JSON" : "Invalid arguments";
  return { problem: `${what}: ${reason} at position ${position}` };
}

/** What to add to a refusal of arguments that were encoded twice; `undefined` for all others. */
export function doubleEncodingHint(value: JsonValue): string | undefined {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return undefined;
  return "the arguments are a string that holds JSON: send the object itself";
}
