import { performance } from "node:perf_hooks";
import { adopt, isThenable } from "../base/promises.ts";
import { describeThrown } from "../base/thrown.ts";
import { CanonicalJson } from "../json/canonical.ts";
import { copyJson } from "../json/copy.ts";
import type { DuplicateKeys } from "../json/duplicate-keys.ts";
import { parseJson } from "../json/parse.ts";
import { ARGUMENT_BOUNDS } from "../json/refusal.ts";
import { isJsonObject, type JsonValue, JsonValueError } from "../json/value.ts";
import { type ArgumentProblem, type ArgumentRules, problemText, readProblem } from "../schema/arguments.ts";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import type { InputValidator } from "../schema/standard-schema.ts";
import { executionErrorText, invalidArgumentsText, notValidatedText } from "./errors.ts";

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
  /** Whether an earlier process suspended the call, so that it continues from there. Never read from what a model sent. */
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

/** Returns the digest that identifies a call of this tool with these arguments. */
export function callDigest({ name, arguments: args }: ReceivedCall): string {
  return new CanonicalJson({ name, arguments: args }).digest;
}

/** Returns the ids that several calls of a message share: an answer or a result could be for any of them. */
export function repeatedIds(calls: readonly { readonly id: string }[]): Set<string> {
  const seen = new Set<string>();
  return new Set(calls.flatMap(({ id }) => (seen.size === seen.add(id).size ? id : [])));
}

/** Returns why a call with a repeated id does not run, as a text for the model. */
export function twiceText(id: string): string {
  return `Invalid tool call: several calls of the message have the id ${JSON.stringify(id.slice(0, 64))}`;
}

/** What the arguments of a tool are checked against. */
interface ArgumentChecks {
  readonly schema: CompiledSchema;
  readonly rules: Required<ArgumentRules>;
  readonly duplicateKeys: DuplicateKeys | undefined;
  readonly tool: { readonly validate?: InputValidator; readonly freeform?: boolean };
}

/** Arguments as the tool gets them, deeply frozen, or what is wrong with them. */
export type CheckedArguments = { readonly value: JsonValue } | InvalidArguments;

/** What is wrong with arguments. */
interface InvalidArguments {
  readonly problems: readonly ArgumentProblem[];
  /** The text for the model. */
  readonly message: string;
  /** What the tool's own validation threw, for the operator. */
  readonly detail?: string;
}

/** Arguments to validate, or a text for the model that says why they cannot be parsed. */
type ParsedArguments = { readonly value: JsonValue } | { readonly problem: string };

/**
 * Parses and validates arguments as a tool's schema and its own validation require it. Never throws.
 *
 * @param args JSON text, or a value that cannot change. For a free-form tool, a string is the input itself.
 * @param isJson Whether a string is JSON text for a free-form tool, too. Default: `false`.
 */
export function checkArguments(
  args: JsonValue,
  { schema, rules, duplicateKeys, tool }: ArgumentChecks,
  isJson = false,
): CheckedArguments {
  const isText = tool.freeform === true && !isJson;
  const parsed = isText ? readText(args) : parseArguments(args, duplicateKeys);
  if ("problem" in parsed) return onlyProblem(parsed.problem);
  const accepted = schema.accept(parsed.value, rules);
  if (!("value" in accepted)) {
    const hint = doubleEncodingHint(parsed.value);
    const { problems: found } = accepted;
    const problems = hint === undefined ? found : [{ path: "", message: hint }, ...found];
    return { problems, message: invalidArgumentsText(problems.map(problemText)) };
  }
  return (tool.validate && problemsOf(tool.validate, accepted.value)) ?? accepted;
}

/** Arguments that could not be read. */
export function onlyProblem(message: string): InvalidArguments {
  return { problems: [{ path: "", message }], message };
}

/** Runs a tool's own validation. Returns `undefined` if it returns an empty list. */
function problemsOf(validate: InputValidator, input: JsonValue): InvalidArguments | undefined {
  let problems: readonly string[];
  try {
    problems = readProblems(validate(input as never));
  } catch (thrown) {
    return { ...onlyProblem(notValidatedText()), detail: describeThrown(thrown).detail };
  }
  if (problems.length === 0) return undefined;
  // Unlike the texts of the schema, these can have any length.
  const message = executionErrorText(invalidArgumentsText(problems));
  return { problems: problems.map(readProblem), message };
}

/** @throws {TypeError} unless `returned` is a list of strings. */
function readProblems(returned: unknown): readonly string[] {
  if (Array.isArray(returned) && returned.every((problem) => typeof problem === "string")) return returned;
  // An asynchronous validation is not waited for, but its rejection must not end the process.
  if (isThenable(returned)) adopt(returned).catch(() => {});
  throw new TypeError("the tool's validate did not return a list of strings");
}

/** Parses arguments that are text, and returns any other value unchanged. The result is deeply frozen. */
export function parseArguments(args: JsonValue, duplicateKeys?: DuplicateKeys): ParsedArguments {
  if (typeof args !== "string") return { value: args };
  const parsed = parseJson(args, ARGUMENT_BOUNDS, duplicateKeys);
  if ("value" in parsed) return parsed;
  const { kind, reason, position } = parsed;
  const what = kind === "syntax" ? "Invalid JSON" : "Invalid arguments";
  return { problem: `${what}: ${reason} at position ${position}` };
}

/** Reads the input of a free-form tool: text is the input itself, not JSON. */
function readText(input: JsonValue): ParsedArguments {
  try {
    // Checks its bounds, and that it has no unpaired surrogates.
    return { value: copyJson(input) };
  } catch (error) {
    return { problem: unreadableText(error) };
  }
}

/** Returns a hint for the model if arguments were encoded as JSON twice, and otherwise `undefined`. */
function doubleEncodingHint(value: JsonValue): string | undefined {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return undefined;
  return "the arguments are a string that holds JSON: send the object itself";
}

/**
 * Reads arguments from an unchecked value. Text is checked when it is parsed, which gives positions; any other value is
 * checked as it is copied here.
 *
 * @throws {JsonValueError} and anything that reading the value throws.
 */
export function receiveArguments(given: unknown): JsonValue {
  return typeof given === "string" ? given : copyJson(given);
}

/** The text for the model if arguments, or the call that they belong to, cannot be read. */
export function unreadableText(thrown: unknown): string {
  return `Invalid arguments: ${isJsonValueError(thrown) ? thrown.message : "it cannot be read"}`;
}

/** Whether a value is that error. A thrown proxy may throw when it is asked. */
function isJsonValueError(thrown: unknown): thrown is JsonValueError {
  try {
    return thrown instanceof JsonValueError;
  } catch {
    return false;
  }
}

/**
 * Milliseconds between two readings of `performance.now`, rounded to microseconds.
 *
 * @param endedAt Defaults to now.
 */
export function elapsedMs(startedAt: number, endedAt: number = performance.now()): number {
  return Math.round((endedAt - startedAt) * 1_000) / 1_000;
}
