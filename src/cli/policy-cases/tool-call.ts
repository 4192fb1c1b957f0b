import type { ToolRegistry } from "../../engine/registry.ts";
import { parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import type { PolicySubject } from "../../policy/policy.ts";
import { problemText } from "../../schema/argument-problem.ts";

/** A call of a tool, as it is written down. */
export interface WrittenToolCall {
  readonly tool: string;
  /** Default: `{}`. */
  readonly arguments?: JsonValue;
}

/** What is wrong with a call that was written down. */
export interface CallFlaw {
  readonly path: readonly string[];
  readonly message: string;
}

/**
 * Returns the tool and the arguments of a call, as the tool's schema accepts them.
 *
 * @param path Where the call is written.
 */
export function validCall(
  { tool: name, arguments: args = {} }: WrittenToolCall,
  registry: ToolRegistry,
  path: readonly string[],
): { readonly tool: PolicySubject; readonly input: JsonValue } | { readonly flaws: readonly CallFlaw[] } {
  const tool = registry.find(name)?.subject;
  if (tool === undefined)
    return { flaws: [{ path: [...path, "tool"], message: `there is no tool '${name}'` }] };
  const validated = registry.validate(name, args);
  if (!("problems" in validated)) return { tool, input: validated.input };
  const flaws = validated.problems.map((problem) => ({
    path: [...path, "arguments", ...parsePointer(problem.path)],
    message: problemText(problem),
  }));
  return { flaws };
}
