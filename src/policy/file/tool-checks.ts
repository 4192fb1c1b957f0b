import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import { suggest } from "../../config/suggest.ts";
import { parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import { RuleMatcher } from "../rule/compiled-rule.ts";
import type { PolicyRule, RuleCondition } from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { findInSchema } from "./schema-path.ts";

/** A registered tool, as far as rules are checked against it. */
export interface PolicyTool {
  readonly name: string;
  readonly inputSchema: JsonObject;
  /** The sandboxes in which the tool has an implementation. */
  readonly sandboxes: readonly SandboxMode[];
  /** Default: `"destructive"`, as in a registry. */
  readonly sideEffects?: SideEffects;
}

/**
 * Checks rules, each with its index in the policy, against the registered tools: a rule that cannot apply to
 * any tool is most likely a mistake.
 *
 * @param path The path of the policy in the source.
 */
export function checkAgainstTools(
  rules: readonly (readonly [index: number, rule: PolicyRule])[],
  tools: readonly PolicyTool[],
  source: ConfigSource,
  path: ConfigPath,
): readonly ConfigProblem[] {
  const checks = new PolicyChecks(source, path, tools);
  checks.check(rules);
  return checks.problems;
}

class PolicyChecks {
  readonly problems: ConfigProblem[] = [];
  readonly #source: ConfigSource;
  readonly #path: ConfigPath;
  readonly #tools: readonly PolicyTool[];

  constructor(source: ConfigSource, path: ConfigPath, tools: readonly PolicyTool[]) {
    this.#source = source;
    this.#path = path;
    this.#tools = tools;
  }

  check(rules: readonly (readonly [index: number, rule: PolicyRule])[]): void {
    const denied = new Map<PolicyTool, string>();
    for (const [index, rule] of rules) {
      if (rule.effect !== "deny" || rule.when !== undefined) continue;
      for (const tool of this.#concerned(rule)) {
        if (!denied.has(tool)) denied.set(tool, ruleName(rule, index));
      }
    }
    for (const [index, rule] of rules) this.#checkRule(rule, index, denied);
  }

  #checkRule(rule: PolicyRule, index: number, denied: ReadonlyMap<PolicyTool, string>): void {
    const path = ["rules", index];
    this.#checkNames(rule, path);
    const tools = this.#concerned(rule);
    if (tools.length === 0) {
      const isKnown = this.#tools.some(({ name }) => rule.tools.some((pattern) => covers(pattern, name)));
      if (isKnown) this.#warn([...path, "sideEffects"], "no matching tool has these side effects");
      return;
    }
    for (const [pointer, condition] of Object.entries(rule.when ?? {})) {
      this.#checkCondition(rule, tools, [...path, "when", pointer], pointer, condition);
    }
    if (rule.effect === "allow")
      this.#checkSandboxes(rule.sandboxes, rule.tools, tools, [...path, "sandboxes"]);
    if (rule.effect !== "deny" && tools.every((tool) => denied.has(tool))) {
      const names = [...new Set(tools.map((tool) => `'${denied.get(tool)}'`))].join(", ");
      this.#warn(path, `this rule has no effect: ${names} denies every call of its tools`);
    }
  }

  #checkNames(rule: PolicyRule, path: ConfigPath): void {
    for (const [index, pattern] of rule.tools.entries()) {
      if (this.#tools.some(({ name }) => covers(pattern, name))) continue;
      const meant = suggest(
        pattern,
        this.#tools.map(({ name }) => name),
      );
      const hint = meant === undefined ? "" : `: did you mean '${meant}'?`;
      this.#warn([...path, "tools", index], `'${pattern}' matches no registered tool${hint}`);
    }
  }

  #checkCondition(
    rule: PolicyRule,
    tools: readonly PolicyTool[],
    path: ConfigPath,
    pointer: string,
    condition: RuleCondition,
  ): void {
    const places = tools.map((tool) => ({
      tool,
      place: findInSchema(tool.inputSchema, parsePointer(pointer)),
    }));
    // A wildcard may match tools without the argument if it matches one that has it.
    const isPossible = places.some(({ place }) => place.kind !== "impossible");
    for (const { tool, place } of places) {
      const isNamed = names(rule.tools, tool);
      if (place.kind === "known") {
        const unfit = unfitType(condition, place.schema);
        if (unfit !== undefined && isNamed)
          this.#fail(path, `${unfit} in the input of tool '${tool.name}'`, "value");
        continue;
      }
      const meant = suggest(parsePointer(pointer).at(-1) ?? "", place.names);
      const hint = meant === undefined ? "" : `: did you mean '${meant}'?`;
      const message = `the input of tool '${tool.name}' has no '${pointer}'${hint}`;
      if (place.kind === "impossible" && (isNamed || !isPossible)) this.#fail(path, message, "key");
      // A schema that lists members but allows others is unlikely to mean this one: a denial would never
      // match.
      else if (isNamed ? place.names.length > 0 : meant !== undefined) this.#warn(path, message, "key");
    }
  }

  #checkSandboxes(
    sandboxes: readonly SandboxMode[],
    patterns: readonly string[],
    tools: readonly PolicyTool[],
    path: ConfigPath,
  ): void {
    const stranded = tools.filter((tool) => !sandboxes.some((mode) => tool.sandboxes.includes(mode)));
    for (const tool of stranded) {
      const message = `tool '${tool.name}' runs only in ${tool.sandboxes.join(", ")}, which this rule does not list`;
      if (names(patterns, tool)) this.#fail(path, message, "value");
      else this.#warn(path, message);
    }
    if (stranded.length === tools.length) return;
    for (const [index, mode] of sandboxes.entries()) {
      if (tools.some((tool) => tool.sandboxes.includes(mode))) continue;
      this.#warn([...path, index], `no tool that this rule matches can run in '${mode}'`);
    }
  }

  #concerned(rule: PolicyRule): readonly PolicyTool[] {
    const matcher = new RuleMatcher({ ...rule, when: {} });
    return this.#tools.filter(({ name, sideEffects = "destructive" }) =>
      matcher.concerns({ name, sideEffects }),
    );
  }

  #fail(path: ConfigPath, message: string, at: "key" | "value"): void {
    this.problems.push(this.#source.problem([...this.#path, ...path], message, "error", at));
  }

  #warn(path: ConfigPath, message: string, at: "key" | "value" = "value"): void {
    this.problems.push(this.#source.problem([...this.#path, ...path], message, "warning", at));
  }
}

/** Whether one of the patterns is the tool's name, and not only a wildcard that matches it. */
function names(patterns: readonly string[], { name }: PolicyTool): boolean {
  return patterns.some((pattern) => compileNamePattern(pattern).literal === name);
}

function covers(pattern: string, name: string): boolean {
  return compileNamePattern(pattern).matches(name);
}

/**
 * Returns why a condition cannot match any value of a schema, or `undefined` if the schema allows its type.
 */
function unfitType(condition: RuleCondition, schema: JsonValue): string | undefined {
  const type = isJsonObject(schema) ? schema["type"] : undefined;
  if (type === undefined) return undefined;
  const types = [type].flat();
  if ("glob" in condition || "prefix" in condition) {
    return types.includes("string")
      ? undefined
      : "a glob or prefix requires a string, and this argument is never one";
  }
  if (!("range" in condition) || types.includes("number") || types.includes("integer")) return undefined;
  return "a range requires a number, and this argument is never one";
}
