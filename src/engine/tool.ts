import { isJsonObject, type JsonObject } from "../json/value.ts";
import { type ArgumentRules, argumentRuleProblems } from "../schema/argument-rules.ts";
import { implementationProblems } from "../tool/implementation-problems.ts";
import type { ToolImplementations } from "../tool/implementations.ts";
import { SIDE_EFFECTS, type SideEffects } from "../tool/side-effects.ts";

/** What a model is told of a tool, and where it can run: at least one implementation. */
export interface Tool<Input = never> extends ToolImplementations<Input>, ArgumentRules {
  /**
   * 1 to 128 printable characters without white space. A provider that does not accept the name gets an alias.
   */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /**
   * JSON Schema of the arguments: draft 2020-12, or draft 7 if `$schema` names it. `normalizeSchema` converts
   * schemas of other dialects.
   */
  readonly inputSchema: JsonObject;
  /** What the tool does at worst. Default: `"destructive"`, so that a policy never assumes less. */
  readonly sideEffects?: SideEffects;
}

/**
 * Declares a tool, with the type of its input known to its host function. It checks nothing: registering
 * does.
 */
export function defineTool<Input = JsonObject>(tool: Tool<Input>): Tool {
  return Object.freeze({ ...tool }) as Tool;
}

/** No white space, and nothing that cannot be seen: control characters, marks of direction, joiners. */
const NAME = /^[^\s\p{C}\p{Z}]{1,128}$/u;

/** Every reason why a tool cannot be registered, apart from its schema. Takes whatever it is given. */
export function toolProblems(tool: Tool): readonly string[] {
  if (!isJsonObject(tool)) return ["the tool is not an object"];
  const problems: string[] = [];
  if (typeof tool.name !== "string" || !NAME.test(tool.name)) {
    problems.push("the name must be 1 to 128 printable characters without spaces");
  }
  if (typeof tool.description !== "string") problems.push("the description must be a string");
  if (!isJsonObject(tool.inputSchema)) problems.push("the input schema must be an object");
  if (tool.sideEffects !== undefined && !SIDE_EFFECTS.includes(tool.sideEffects)) {
    problems.push(`sideEffects must be one of ${SIDE_EFFECTS.join(", ")}`);
  }
  problems.push(...argumentRuleProblems(tool), ...implementationProblems(tool));
  return problems;
}
