import type { PreflightContext } from "../../tool/preflight.ts";
import type { CodePosition, KnownInput, ToolUse } from "./checked-code.ts";

/** The most problems that are reported. */
const MAX_PROBLEMS = 10;

/** Returns what is wrong with the tools that a program names, and with the literal parts of their inputs. */
export function useProblems(uses: readonly ToolUse[], context: PreflightContext): readonly string[] {
  const problems = new Set<string>();
  for (const { name, line, column, input } of uses) {
    if (problems.size >= MAX_PROBLEMS) break;
    const refusal = context.refusalOf(name);
    if (refusal !== undefined) problems.add(`/code ${line}:${column}: ${refusal}`);
    else if (input !== undefined)
      for (const problem of inputProblems(name, input, context)) problems.add(problem);
  }
  return [...problems].slice(0, MAX_PROBLEMS);
}

function inputProblems(name: string, input: KnownInput, context: PreflightContext): readonly string[] {
  const { value, unknown, places } = input;
  if (unknown.includes("")) return [];
  const found = context.problemsOf(name, value);
  // With an unknown part, which branch of a schema applies is unknown, too.
  if (unknown.length > 0 && found.some(({ message }) => BRANCHES.test(message))) return [];
  return found
    .filter(({ path, message }) => isCertain(path, message, unknown))
    .map(({ path, message }) => {
      const { line, column } = placeOf(path, places);
      return `/code ${line}:${column}: tools.${name}: ${path === "" ? "" : `${path} `}${message}`;
    });
}

const BRANCHES = /\b(?:anyOf|oneOf|if|then|else|not)\b|must NOT be valid/;

/** Problems of an object's own members, which no value of another member changes. */
const OWN_MEMBERS = /^must (?:have required property|NOT have (?:additional|unevaluated) properties)/;

/** Whether a problem is there whatever the unknown parts are. */
function isCertain(path: string, message: string, unknown: readonly string[]): boolean {
  if (unknown.some((part) => path === part || path.startsWith(`${part}/`))) return false;
  return OWN_MEMBERS.test(message) || !unknown.some((part) => part.startsWith(`${path}/`));
}

/** The place of the value, or of the innermost one around it that the program has. */
function placeOf(path: string, places: KnownInput["places"]): CodePosition {
  for (let at = path; ; at = at.slice(0, Math.max(at.lastIndexOf("/"), 0))) {
    if (Object.hasOwn(places, at)) return places[at] as CodePosition;
    if (at === "") return { line: 1, column: 1 };
  }
}
