import { adopt, isThenable } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import { type ArgumentProblem, problemText, readProblem } from "../../schema/argument-problem.ts";
import type { InputValidator } from "../../schema/standard-schema.ts";
import { doubleEncodingHint, parseArguments } from "../call/call.ts";
import { shownName } from "../call/shown-name.ts";
import type { FoundCall } from "../call/state.ts";
import { executionErrorText, invalidArgumentsText, notValidatedText } from "../failure/errors.ts";
import { denial, invalid } from "../failure/refusal.ts";

/**
 * Sets `input` to the arguments as the tool's schema and its own validation accept them, deeply frozen, and `canonical`.
 *
 * @throws {Refusal} `validation_error` with every problem, `permission_denied` if the context denies secrets.
 */
export function readArguments(call: FoundCall): undefined {
  const { schema, rules, duplicateKeys, tool } = call.registered;
  const parsed = parseArguments(call.input, duplicateKeys);
  if ("problem" in parsed) throw invalid(parsed.problem, [{ path: "", message: parsed.problem }]);
  const accepted = schema.accept(parsed.value, rules);
  if (!("value" in accepted)) {
    const hint = doubleEncodingHint(parsed.value);
    const { problems: found } = accepted;
    const problems = hint === undefined ? found : [{ path: "", message: hint }, ...found];
    throw invalid(textOf(problems), problems);
  }
  if (tool.validate !== undefined) checkWith(tool.validate, accepted.value);
  call.input = accepted.value;
  call.canonical = new CanonicalJson(accepted.value);
  const { redaction } = call.ctx;
  if (redaction?.onSecretArgument === "deny" && redaction.finds(accepted.value)) {
    throw denial(shownName(call), "secret", "the redaction denies calls with secrets in their arguments");
  }
}

/** Runs a tool's own validation. @throws {Refusal} unless it returns an empty list. */
function checkWith(validate: InputValidator, input: JsonValue): void {
  let problems: readonly string[];
  try {
    problems = readProblems(validate(input as never));
  } catch (thrown) {
    const message = notValidatedText();
    throw invalid(message, [{ path: "", message }], describeThrown(thrown).detail);
  }
  if (problems.length === 0) return;
  // Unlike the texts of the schema, these can have any length.
  throw invalid(executionErrorText(invalidArgumentsText(problems)), problems.map(readProblem));
}

function textOf(problems: readonly ArgumentProblem[]): string {
  return invalidArgumentsText(problems.map(problemText));
}

/** @throws {TypeError} unless `returned` is a list of strings. */
function readProblems(returned: unknown): readonly string[] {
  if (Array.isArray(returned) && returned.every((problem) => typeof problem === "string")) return returned;
  // An asynchronous validation is not waited for, but its rejection must not end the process.
  if (isThenable(returned)) adopt(returned).catch(() => {});
  throw new TypeError("the tool's validate did not return a list of strings");
}
