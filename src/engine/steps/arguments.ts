import type { JsonValue } from "../../json/value.ts";
import { doubleEncodingHint, parseArguments } from "../call/call.ts";
import { invalidArgumentsText } from "../call/errors.ts";
import { Refusal } from "../call/refusal.ts";
import type { RegisteredTool } from "../registry.ts";

/**
 * Sets `input` to the arguments as the tool's schema and its own validation accept them, deeply frozen, and `canonical`.
 *
 * @throws {Refusal} `validation_error` with every problem.
 */
export function readArguments(args: JsonValue, { schema, rules }: RegisteredTool): JsonValue {
  const parsed = parseArguments(args);
  if ("problem" in parsed) throw new Refusal("validation_error", parsed.problem);
  const accepted = schema.accept(parsed.value, rules);
  if ("value" in accepted) return accepted.value;
  const hint = doubleEncodingHint(parsed.value);
  const problems = hint === undefined ? accepted.problems : [hint, ...accepted.problems];
  throw new Refusal("validation_error", invalidArgumentsText(problems));
}
