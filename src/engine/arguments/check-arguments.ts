import { adopt, isThenable } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import { ARGUMENT_BOUNDS } from "../../json/bounds.ts";
import { copyJson } from "../../json/copy.ts";
import type { DuplicateKeys } from "../../json/duplicate-keys.ts";
import { parseJson } from "../../json/parse.ts";
import { type JsonValue, JsonValueError } from "../../json/value.ts";
import { type ArgumentProblem, problemText, readProblem } from "../../schema/argument-problem.ts";
import type { ArgumentRules } from "../../schema/argument-rules.ts";
import type { CompiledSchema } from "../../schema/compiled-schema.ts";
import type { InputValidator } from "../../schema/standard-schema.ts";
import { executionErrorText, invalidArgumentsText, notValidatedText } from "../errors.ts";

/** Arguments to validate, or a text that tells the model why they cannot be parsed. */
type ParsedArguments = { readonly value: JsonValue } | { readonly problem: string };

/** What the arguments of a tool are checked against. */
export interface ArgumentChecks {
  readonly schema: CompiledSchema;
  readonly rules: Required<ArgumentRules>;
  readonly duplicateKeys: DuplicateKeys | undefined;
  readonly tool: { readonly validate?: InputValidator; readonly freeform?: boolean };
}

/** Arguments as the tool gets them, deeply frozen, or what is wrong with them. */
export type CheckedArguments = { readonly value: JsonValue } | InvalidArguments;

/** What is wrong with arguments. */
export interface InvalidArguments {
  readonly problems: readonly ArgumentProblem[];
  /** The text for the model. */
  readonly message: string;
  /** What the tool's own validation threw, for the operator. */
  readonly detail?: string;
}

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

/** Parses arguments that are text, and returns others unchanged. The value is deeply frozen. */
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
