import { copyJson } from "../../json/copy.ts";
import { isJsonObject, type JsonObject, JsonValueError } from "../../json/value.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";
import type { RuleConditions } from "../../policy/rule/rule.ts";
import { checkOptions } from "../../policy/rule/rule-options.ts";
import type { ApprovalScope } from "./approval.ts";

/** The longest time for which an approval can hold: a year, in ms. */
const MAX_DURATION_MS = 366 * 24 * 3_600_000;

/**
 * Checks the scope of an approval, of which nothing is known, and returns a deeply frozen copy.
 *
 * @param toolName The tool about which the person was asked: the scope must name it.
 * @throws {TypeError} that says what is wrong.
 */
export function checkScope(scope: unknown, toolName: string): ApprovalScope {
  const { tools, when, for: span, calls, ...unknown } = copyScope(scope);
  for (const key of Object.keys(unknown)) throw new TypeError(`unknown member '${key}' in an approval`);
  checkMatch({ tools, when });
  const patterns = tools as readonly string[];
  if (!patterns.some((pattern) => compileNamePattern(pattern).matches(toolName))) {
    throw new TypeError("an approval must name the tool that was asked about");
  }
  if (span !== "session" && span !== "workspace" && !isAmount(span, MAX_DURATION_MS)) {
    throw new TypeError(
      `an approval is for 'session', 'workspace' or 1 to ${MAX_DURATION_MS} milliseconds, not ${JSON.stringify(span)}`,
    );
  }
  if (calls !== undefined && !isAmount(calls, Number.MAX_SAFE_INTEGER)) {
    throw new TypeError("the calls of an approval must be a whole number above 0");
  }
  return Object.freeze({
    tools: patterns,
    ...(when !== undefined && { when: when as unknown as RuleConditions }),
    for: span,
    ...(calls !== undefined && { calls }),
  });
}

function copyScope(scope: unknown): JsonObject {
  try {
    const copy = copyJson(scope);
    if (isJsonObject(copy)) return copy;
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    throw new TypeError(`an approval must be JSON: ${error.message}`);
  }
  throw new TypeError("an approval must be an object");
}

/** Tools and conditions are those of a policy's rule. */
function checkMatch(match: JsonObject): void {
  try {
    checkOptions({ rules: [{ ...match, effect: "deny", tools: match["tools"] ?? [] } as never] });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TypeError(`in an approval, ${error.message.replaceAll(/\brule 1: /g, "")}`);
  }
}

function isAmount(value: unknown, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= max;
}
