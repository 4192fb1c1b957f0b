import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import type { HistoryCondition } from "../history/history-condition.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import { concernedTools } from "../rule/concerned-tools.ts";
import { namedFields } from "../rule/conditions/tracked-fields.ts";
import { toolsMemberOf, toolsOf } from "../rule/history/compile-history.ts";
import { isConditional, type PolicyRule, type UntrustedResult, usedBy } from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import type { ConditionProblem } from "./checked-rule.ts";
import { conditionProblems } from "./condition-checks.ts";
import { matchProblems } from "./match-checks.ts";
import { didYouMean, unknownNames } from "./name-checks.ts";
import type { PolicyTool } from "./policy-tool.ts";
import { templateProblems } from "./template-checks.ts";

/** A rule and its index in the policy. */
type IndexedRule = readonly [index: number, rule: PolicyRule];

/**
 * Checks rules against the registered tools: a rule that cannot apply to any tool is most likely a mistake.
 *
 * @param grantsByDefault Whether the policy allows calls that no rule matches.
 * @param path The path of the policy in the source.
 */
export function checkAgainstTools(
  rules: readonly IndexedRule[],
  grantsByDefault: boolean,
  tools: readonly PolicyTool[],
  source: ConfigSource,
  path: ConfigPath,
  untrusted: readonly UntrustedResult[] = [],
): readonly ConfigProblem[] {
  const checks = new PolicyChecks(source, path, tools);
  checks.check(rules, grantsByDefault);
  for (const [index, { tool }] of untrusted.entries()) checks.checkTool(tool, ["untrusted", index, "tool"]);
  return checks.problems;
}

/** Returns a test whether one of the rule's patterns is a tool's name, and not only a wildcard that matches it. */
export function namedBy({ tools = [] }: PolicyRule): (tool: PolicyTool) => boolean {
  const names = new Set(tools.map((pattern) => compileNamePattern(pattern).literal));
  return ({ name }) => names.has(name);
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

  check(rules: readonly IndexedRule[], grantsByDefault: boolean): void {
    const denied = new Map<PolicyTool, string>();
    const granted = new Set<PolicyTool>(grantsByDefault ? this.#tools : []);
    for (const [index, rule] of rules) {
      const isDenial = rule.effect === "deny" && !isConditional(rule);
      if (!isDenial && usedBy(rule) === undefined) continue;
      for (const tool of concernedTools(rule, this.#tools)) {
        if (!isDenial) granted.add(tool);
        else if (!denied.has(tool)) denied.set(tool, ruleName(rule, index));
      }
    }
    for (const [index, rule] of rules) {
      this.#checkEnd(rule, ["rules", index]);
      this.#checkRule(rule, ["rules", index], denied, granted);
    }
  }

  #checkEnd({ until, owner }: PolicyRule, path: ConfigPath): void {
    if (until === undefined || Date.now() < Date.parse(until)) return;
    const asked = owner === undefined ? "" : ` (owner: ${owner})`;
    this.#warn([...path, "until"], `this rule has ended: remove it, or extend it${asked}`);
  }

  #checkRule(
    rule: PolicyRule,
    path: ConfigPath,
    denied: ReadonlyMap<PolicyTool, string>,
    granted: ReadonlySet<PolicyTool>,
  ): void {
    for (const unknown of unknownNames(rule, this.#tools))
      this.#warn([...path, ...unknown.path], unknown.message);
    for (const [index, condition] of (rule.history ?? []).entries()) {
      this.#checkHistory(condition, [...path, "history", index]);
    }
    const tools = concernedTools(rule, this.#tools);
    if (tools.length === 0) {
      this.#checkSideEffects(rule, path);
      return;
    }
    const isNamed = namedBy(rule);
    for (const problem of conditionProblems(rule.when, { effect: rule.effect, tools, isNamed }))
      this.#report(path, problem);
    this.#checkFields(rule, path);
    for (const problem of matchProblems(rule, tools, isNamed)) this.#report(path, problem);
    const { capabilities } = usedBy(rule) ?? {};
    for (const problem of templateProblems(capabilities, tools, isNamed)) this.#report(path, problem);
    if (usedBy(rule) !== undefined) this.#checkSandboxes(rule, tools, isNamed, [...path, "sandboxes"]);
    this.#checkFiles(rule, tools, path);
    if (rule.effect !== "deny" && tools.every((tool) => denied.has(tool))) {
      const names = [...new Set(tools.map((tool) => `'${denied.get(tool)}'`))].join(", ");
      this.#warn(path, `this rule has no effect: ${names} denies every call of its tools`);
    } else if (rule.effect === "ask" && !tools.some((tool) => granted.has(tool))) {
      const message =
        "no rule grants anything to the calls that this rule asks about, so they are denied anyway";
      this.#warn(path, `${message}: add 'sandboxes', or a rule that allows them`);
    }
  }

  /** A misspelt name in such a condition is worse than elsewhere: the calls would not be counted. */
  #checkHistory(condition: HistoryCondition, path: ConfigPath): void {
    const patterns = toolsOf(condition);
    for (const unknown of unknownNames({ tools: patterns }, this.#tools))
      this.#warn([...path, toolsMemberOf(condition), ...unknown.path.slice(1)], unknown.message);
    if (!("sum" in condition)) return;
    const counted: PolicyRule = { effect: "deny", tools: patterns };
    const tools = concernedTools(counted, this.#tools);
    const isNamed = namedBy(counted);
    for (const problem of conditionProblems(
      { [condition.sum]: { range: { min: 0 } } },
      { effect: "allow", tools, isNamed },
    )) {
      this.#report([], { ...problem, path: [...path, "sum"], at: "value" });
    }
  }

  /** A source of a tool that is not registered has no values. */
  #checkFields(rule: PolicyRule, path: ConfigPath): void {
    for (const { path: place, field } of namedFields(rule.when)) {
      if (field === "user") continue;
      const [key, name] = "lookup" in field ? ["lookup", field.lookup] : ["tool", field.tool];
      this.checkTool(name, [...path, "when", ...place, key]);
    }
  }

  /** Warns if a tool whose results a policy is about is not registered. */
  checkTool(name: string, path: ConfigPath): void {
    const names = this.#tools.map((tool) => tool.name);
    if (names.includes(name)) return;
    this.#warn(path, `no tool '${name}' is registered${didYouMean(name, names)}`);
  }

  #checkSideEffects({ tools, tags, sideEffects }: PolicyRule, path: ConfigPath): void {
    if (sideEffects === undefined) return;
    const others = concernedTools({ ...(tools && { tools }), ...(tags && { tags }) }, this.#tools);
    if (others.length > 0) this.#warn([...path, "sideEffects"], "no matching tool has these side effects");
  }

  #checkSandboxes(
    rule: PolicyRule,
    tools: readonly PolicyTool[],
    isNamed: (tool: PolicyTool) => boolean,
    path: ConfigPath,
  ): void {
    const { sandboxes = [] } = usedBy(rule) ?? {};
    const stranded = tools.filter((tool) => !sandboxes.some((mode) => tool.sandboxes.includes(mode)));
    for (const tool of stranded) {
      const message = `tool '${tool.name}' runs only in ${tool.sandboxes.join(", ")}, which this rule does not list`;
      if (isNamed(tool)) this.#report([], { path, message, severity: "error", at: "value" });
      else this.#warn(path, message);
    }
    if (stranded.length === tools.length) return;
    for (const [index, mode] of sandboxes.entries()) {
      if (tools.some((tool) => tool.sandboxes.includes(mode))) continue;
      this.#warn([...path, index], `no tool that this rule matches can run in '${mode}'`);
    }
  }

  /** Tools on the host get no files from a rule that grants none, whatever other rules grant. */
  #checkFiles(rule: PolicyRule, tools: readonly PolicyTool[], path: ConfigPath): void {
    const { sandboxes = [], capabilities } = usedBy(rule) ?? {};
    if ((capabilities?.fs ?? []).length > 0) return;
    const without = tools.filter(
      ({ usesFiles, sandboxes: own }) => usesFiles && sandboxes.find((mode) => own.includes(mode)) === "host",
    );
    if (without.length === 0) return;
    const names = without.map(({ name }) => `'${name}'`).join(", ");
    const remedy =
      "add 'capabilities: { fs: [{ workspace: true }] }', with 'write: true' if they change files";
    this.#warn(
      path,
      `this rule grants no files, which ${names} ${without.length === 1 ? "needs" : "need"}: ${remedy}`,
    );
  }

  #warn(path: ConfigPath, message: string): void {
    this.#report([], { path, message, severity: "warning", at: "value" });
  }

  #report(base: ConfigPath, { path, message, severity, at }: ConditionProblem): void {
    this.problems.push(this.#source.problem([...this.#path, ...base, ...path], message, severity, at));
  }
}
