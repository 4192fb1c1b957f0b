import type { Steps } from "../../base/turns.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../tool/side-effects.ts";
import { isOriginTemplate, type RuleCapabilities } from "../grant/execution-grant.ts";
import { isFileTemplate } from "../grant/file-template.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import { toolsMemberOf, toolsOf } from "../rule/history-conditions.ts";
import {
  type DefaultUse,
  type HistoryCondition,
  isConditional,
  type PolicyRule,
  type UntrustedResult,
  usedBy,
} from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { concernedTools } from "../rule/rule-matcher.ts";
import type { ConditionProblem, PolicyTool } from "./checked-rule.ts";
import { conditionProblems } from "./condition-checks.ts";
import { fieldProblems, untrustedProblems } from "./field-checks.ts";
import { matchProblems } from "./match-checks.ts";
import { unknownNames } from "./name-checks.ts";
import { shadowedRules, superfluousParts } from "./shadowed-rules.ts";
import { WRITTEN_NAMES } from "./written-limits.ts";

/** A rule and its index in the policy. */
type IndexedRule = readonly [index: number, rule: PolicyRule];

/**
 * Checks rules against the registered tools: a rule that cannot apply to any tool is most likely a mistake.
 *
 * @param byDefault What calls get that no rule matches.
 * @param policy.path The path of the policy in the source.
 */
export function* checkAgainstTools(
  rules: readonly IndexedRule[],
  byDefault: "deny" | DefaultUse,
  tools: readonly PolicyTool[],
  { source, path }: { readonly source: ConfigSource; readonly path: ConfigPath },
  untrusted: readonly UntrustedResult[] = [],
): Steps<readonly ConfigProblem[]> {
  const checks = new PolicyChecks(source, path, tools);
  yield* checks.check(rules, byDefault);
  for (const { path: place, message } of untrustedProblems(untrusted, tools)) checks.warn(place, message);
  return checks.problems;
}

/** Returns a test whether one of the rule's patterns is a tool's name, and not only a wildcard that matches it. */
export function namedBy({ tools = [] }: PolicyRule): (tool: Pick<PolicyTool, "name">) => boolean {
  const names = new Set(tools.map((pattern) => compileNamePattern(pattern).literal));
  return ({ name }) => names.has(name);
}

/** Whether a rule applies to every call, also of tools that are not there yet. */
function isAboutAll({ tools = [], tags, sideEffects, ...rule }: PolicyRule): boolean {
  return tools.includes("*") && tags === undefined && sideEffects === undefined && !isConditional(rule);
}

class PolicyChecks {
  readonly problems: ConfigProblem[] = [];
  readonly #source: ConfigSource;
  readonly #path: ConfigPath;
  readonly #tools: readonly PolicyTool[];
  /** The tools of which a call may be allowed. */
  #runnable: Set<PolicyTool> = new Set();

  constructor(source: ConfigSource, path: ConfigPath, tools: readonly PolicyTool[]) {
    this.#source = source;
    this.#path = path;
    this.#tools = tools;
  }

  *check(rules: readonly IndexedRule[], byDefault: "deny" | DefaultUse): Steps<void> {
    const grantsByDefault = byDefault !== "deny";
    const granted = new Set<PolicyTool>(grantsByDefault ? this.#tools : []);
    for (const [, rule] of rules) {
      yield;
      if (usedBy(rule) === undefined) continue;
      for (const tool of concernedTools(rule, this.#tools)) granted.add(tool);
    }
    this.#runnable = new Set(granted);
    for (const [, rule] of rules) {
      if (rule.effect !== "deny" || isConditional(rule)) continue;
      for (const tool of concernedTools(rule, this.#tools)) this.#runnable.delete(tool);
    }
    // A policy that allows nothing at all is there to restrict other policies.
    if (this.#runnable.size === 0) this.#runnable = new Set(this.#tools);
    const shadowed = yield* shadowedRules(rules, this.#tools, byDefault);
    for (const { path, message } of shadowed) this.warn(path, message);
    const last = rules.find(([, rule]) => isAboutAll(rule) && rule.effect !== "ask");
    if (grantsByDefault && last !== undefined)
      this.warn(["default"], `has no effect: '${ruleName(last[1], last[0])}' decides on every call`);
    const isShadowed = new Set(
      shadowed.flatMap(({ path: [, index, ...part] }) => (part.length === 0 ? [index] : [])),
    );
    for (const [index, rule] of rules) {
      yield;
      this.#checkEnd(rule, ["rules", index]);
      this.#checkRule(rule, ["rules", index], isShadowed.has(index) ? undefined : granted);
    }
  }

  #checkEnd({ until, owner }: PolicyRule, path: ConfigPath): void {
    if (until === undefined || Date.now() < Date.parse(until)) return;
    const asked = owner === undefined ? "" : ` (owner: ${owner})`;
    this.warn([...path, "until"], `this rule has ended: remove it, or extend it${asked}`);
  }

  #checkRule(rule: PolicyRule, path: ConfigPath, granted: ReadonlySet<PolicyTool> | undefined): void {
    for (const unknown of unknownNames(rule, this.#tools))
      this.warn([...path, ...unknown.path], unknown.message);
    for (const part of superfluousParts(rule)) this.warn([...path, ...part.path], part.message);
    for (const [index, condition] of (rule.history ?? []).entries()) {
      this.#checkHistory(condition, [...path, "history", index]);
    }
    const tools = concernedTools(rule, this.#tools);
    if (tools.length === 0) {
      this.#checkSelection(rule, path);
      return;
    }
    const isNamed = namedBy(rule);
    for (const problem of conditionProblems(rule.when, { effect: rule.effect, tools, isNamed }))
      this.#report(path, problem);
    for (const { path: place, message } of fieldProblems(rule, this.#tools, (tool) =>
      this.#runnable.has(tool),
    ))
      this.warn([...path, ...place], message);
    for (const problem of matchProblems(rule, tools, isNamed)) this.#report(path, problem);
    const { capabilities } = usedBy(rule) ?? {};
    for (const problem of templateProblems(capabilities, tools, isNamed)) this.#report(path, problem);
    if (usedBy(rule) !== undefined) this.#checkSandboxes(rule, tools, isNamed, [...path, "sandboxes"]);
    this.#checkFiles(rule, tools, path);
    this.#checkNested(rule, path);
    if (rule.effect === "ask" && granted !== undefined && !tools.some((tool) => granted.has(tool))) {
      const message =
        "no rule grants anything to the calls that this rule asks about, so they are denied anyway";
      this.warn(path, `${message}: add 'sandboxes', or a rule that allows them`);
    }
  }

  /** A misspelt name in such a condition is worse than elsewhere: the calls would not be counted. */
  #checkHistory(condition: HistoryCondition, path: ConfigPath): void {
    const patterns = toolsOf(condition);
    for (const unknown of unknownNames({ tools: patterns }, this.#tools))
      this.warn([...path, toolsMemberOf(condition), ...unknown.path.slice(1)], unknown.message);
    const earlier = concernedTools({ tools: patterns }, this.#tools);
    if (earlier.length > 0 && !earlier.some((tool) => this.#runnable.has(tool))) {
      const names = earlier.map(({ name }) => `'${name}'`).join(", ");
      const message = `no rule allows calls of ${names}, so there are never earlier ones: allow them, or remove this`;
      this.warn([...path, toolsMemberOf(condition)], message);
    }
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

  /** Names, tags and side effects that some tools have, and none together. */
  #checkSelection({ tools, tags, sideEffects }: PolicyRule, path: ConfigPath): void {
    const parts = { ...(tools && { tools }), ...(tags && { tags }), ...(sideEffects && { sideEffects }) };
    const others = concernedTools({ ...(tools && { tools }), ...(tags && { tags }) }, this.#tools);
    if (sideEffects !== undefined && others.length > 0) {
      const classes = [...new Set(others.map((tool) => tool.sideEffects ?? UNDECLARED_SIDE_EFFECTS))].join(
        ", ",
      );
      this.warn([...path, "sideEffects"], `no matching tool has these side effects, only ${classes}`);
      return;
    }
    const isKnown = Object.entries(parts).every(
      ([name, part]) => concernedTools({ [name]: part }, this.#tools).length > 0,
    );
    if (!isKnown) return;
    const message = `no tool has one of these names and one of these tags: remove one of them, or write two rules`;
    this.warn([...path, "tags"], message);
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
      else this.warn(path, message);
    }
    if (stranded.length === tools.length) return;
    for (const [index, mode] of sandboxes.entries()) {
      if (tools.some((tool) => tool.sandboxes.includes(mode))) continue;
      this.warn([...path, index], `no tool that this rule matches can run in '${mode}'`);
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
    this.warn(
      path,
      `this rule grants no files, which ${names} ${without.length === 1 ? "needs" : "need"}: ${remedy}`,
    );
  }

  /** Tools that calls can make, and limits of what they cannot do. */
  #checkNested(rule: PolicyRule, path: ConfigPath): void {
    const { capabilities: { tools: patterns = [], net = [], fs = [] } = {}, limits = {} } =
      usedBy(rule) ?? {};
    const place = [...path, "capabilities"];
    for (const unknown of unknownNames({ tools: patterns }, this.#tools))
      this.warn([...place, ...unknown.path], unknown.message);
    for (const [index, pattern] of patterns.entries()) {
      const called = concernedTools({ tools: [pattern] }, this.#tools);
      if (called.length === 0 || called.some((tool) => this.#runnable.has(tool))) continue;
      const message = `no rule allows calls of '${pattern}', so that calls that tools make are denied, too: allow them, or remove this`;
      this.warn([...place, "tools", index], message);
    }
    for (const [name, isUsed, needed] of [
      ["nestedCalls", patterns.length > 0, "'capabilities.tools' names no tool that can be called"],
      ["netBytes", net.length > 0, "'capabilities.net' grants no origin"],
      [
        "fileBytes",
        fs.some((grant) => grant.write === true),
        "'capabilities.fs' grants nothing with 'write: true'",
      ],
    ] as const) {
      if (limits[name] === undefined || isUsed) continue;
      this.warn(
        [...path, "limits", WRITTEN_NAMES[name]],
        `has no effect, as ${needed}: grant some, or remove this`,
      );
    }
  }

  warn(path: ConfigPath, message: string): void {
    this.#report([], { path, message, severity: "warning", at: "value" });
  }

  #report(base: ConfigPath, { path, message, severity, at }: ConditionProblem): void {
    this.problems.push(this.#source.problem([...this.#path, ...base, ...path], message, severity, at));
  }
}

/** Checks the arguments from which a rule's capabilities take files and origins, like those of conditions on texts. */
function templateProblems(
  { fs = [], net = [] }: RuleCapabilities = {},
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
): readonly ConditionProblem[] {
  const problemsOf = (argument: string, path: ConfigPath): ConditionProblem[] =>
    conditionProblems(
      { [argument as `/${string}`]: { prefix: "" } },
      { effect: "allow", tools, isNamed },
    ).map((problem) => ({
      ...problem,
      path: ["capabilities", ...path, "argument"],
      at: "value",
    }));
  return [
    ...fs.flatMap((grant, index) =>
      isFileTemplate(grant) ? problemsOf(grant.file.argument, ["fs", index, "file"]) : [],
    ),
    ...net.flatMap((grant, index) =>
      isOriginTemplate(grant) ? problemsOf(grant.argument, ["net", index]) : [],
    ),
  ];
}
