import { lookUp, MISSING, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { compilePattern } from "../../patterns/pattern.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import { compileNamePattern, type NamePattern } from "../match/name-pattern.ts";
import type { PolicySubject } from "../policy.ts";
import { MAX_WORDS } from "../user-words.ts";
import { findRequirement, type Requirement } from "./condition-index.ts";
import { allOf, type Match, yesOrNo } from "./conditions/comparison.ts";
import {
  type CallTest,
  type CompiledCondition,
  compileConditions,
  inputsOf,
  type MatchedCall,
} from "./conditions/condition.ts";
import { compileWindow, describeWindow } from "./conditions/time-window.ts";
import { compileHistory } from "./history-conditions.ts";
import type { RuleMatch, TimeWindow } from "./rule.ts";

/** Returns the time, in milliseconds since the epoch. */
export type Clock = () => number;

/** A tool, as far as rules depend on it. */
export type MatchedTool = Pick<PolicySubject, "name" | "sideEffects" | "tags">;

/** A condition that a call does not certainly meet. */
export interface MissedCondition {
  readonly subject: string;
  readonly match: "no" | "unclear";
}

/** Any call of a tool by a principal: it notes whether a condition depends on more than that. */
class CallOfCaller implements MatchedCall {
  readonly principal: MatchedCall["principal"];
  readonly tool: PolicySubject;
  dependsOnMore = false;

  constructor(principal: MatchedCall["principal"], tool: PolicySubject) {
    this.principal = principal;
    this.tool = tool;
  }

  get input(): null {
    this.dependsOnMore = true;
    return null;
  }

  /** Of now. */
  get time(): undefined {
    return undefined;
  }

  get sessionId(): string {
    this.dependsOnMore = true;
    return "";
  }

  get workspace(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }

  get history(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }

  get paths(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }

  get spelled(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }
}

const NONE: readonly MissedCondition[] = Object.freeze([]);

/** Decides which calls a rule matches. */
export class RuleMatcher {
  readonly #patterns: readonly NamePattern[] | undefined;
  readonly #sideEffects: readonly SideEffects[] | undefined;
  /** The tags of a tool, one of which it must have. */
  readonly tags: readonly string[] | undefined;
  /** The conditions on the call: one call of a tool can meet them, and another one not. */
  readonly #conditions: readonly CompiledCondition[];
  readonly #tests: readonly CallTest[];
  #missed: readonly Readonly<Record<MissedCondition["match"], MissedCondition>>[] | undefined;
  /** What a call must have to match the rule. Default: nothing by which rules can be looked up. */
  readonly requirement: Requirement | undefined;
  /** The steps to the arguments that conditions depend on, with `*` for every element. */
  readonly inputs: readonly (readonly string[])[];

  constructor(rule: RuleMatch, now: Clock) {
    const { tools, tags, sideEffects } = rule;
    this.#patterns = tools?.map(compileNamePattern);
    this.#sideEffects = sideEffects;
    this.tags = tags;
    this.#conditions = compileCallConditions(rule, now);
    this.#tests = this.#conditions.map(({ test }) => test);
    this.requirement = findRequirement(rule);
    this.inputs = rule.when === undefined ? [] : inputsOf(rule.when);
  }

  /** Whether the match depends on the call, and not only on its tool. */
  get isConditional(): boolean {
    return this.#conditions.length > 0;
  }

  /** The names of the tools, unless the rule names them by wildcards, or does not restrict names at all. */
  get toolNames(): readonly string[] | "wildcards" | "all" {
    if (this.#patterns === undefined) return "all";
    const names = this.#patterns.map(({ literal }) => literal);
    return names.every((name) => name !== undefined) ? names : "wildcards";
  }

  /** Whether the rule can match calls of a tool. */
  concerns(tool: MatchedTool): boolean {
    return this.missedBy(tool) === undefined && this.names(tool);
  }

  /** Whether the tool has one of the rule's names. */
  names({ name }: MatchedTool): boolean {
    return this.#patterns?.some((pattern) => pattern.matches(name)) ?? true;
  }

  /** Returns what a tool does not meet besides the names, for operators; `undefined` if it meets all. */
  missedBy({ sideEffects, tags = [] }: MatchedTool): "sideEffects" | "tags" | undefined {
    if (this.#sideEffects?.includes(sideEffects) === false) return "sideEffects";
    return this.tags?.some((tag) => tags.includes(tag)) === false ? "tags" : undefined;
  }

  /** Whether a call of a concerned tool meets all conditions: `"no"` if it fails one, even if some are unclear. */
  match(call: MatchedCall): Match {
    let match: Match = "yes";
    // Written out, as this test is the most frequent one.
    for (const test of this.#tests) {
      const answer = test(call);
      if (answer === "no") return "no";
      if (answer === "unclear") match = "unclear";
    }
    return match;
  }

  /**
   * Whether the calls of a tool by a principal meet all conditions, as far as they depend on nothing but the principal and the time:
   * `"depends"` if further conditions remain.
   */
  matchCaller(principal: MatchedCall["principal"], tool: PolicySubject): Match | "depends" {
    const call = new CallOfCaller(principal, tool);
    let match: Match | "depends" = "yes";
    for (const { test, recurs } of this.#conditions) {
      call.dependsOnMore = recurs === true;
      const answer = test(call);
      if (call.dependsOnMore) match = "depends";
      else if (answer === "no") return "no";
      else if (answer === "unclear" && match === "yes") match = "unclear";
    }
    return match;
  }

  /** Returns which conditions a call does not meet, for operators. */
  missedConditions(call: MatchedCall): readonly string[] {
    return this.examine(call).map(({ subject, match }) => (match === "no" ? subject : `${subject}, unclear`));
  }

  /** Evaluates every condition, and returns those that a call does not certainly meet, always as the same objects. */
  examine(call: MatchedCall): readonly MissedCondition[] {
    this.#missed ??= this.#conditions.map(({ subject }) => ({
      no: { subject, match: "no" },
      unclear: { subject, match: "unclear" },
    }));
    let missed: MissedCondition[] | undefined;
    for (const [index, test] of this.#tests.entries()) {
      const match = test(call);
      const unmet = match === "yes" ? undefined : this.#missed[index]?.[match];
      if (unmet === undefined) continue;
      if (missed === undefined) missed = [unmet];
      else missed.push(unmet);
    }
    return missed ?? NONE;
  }
}

/** Compiles the members of a rule that depend on the call, and not only on its tool. All must be met. */
function compileCallConditions(
  { principals, roles, asked, absent, when = {}, history = [], until, during }: RuleMatch,
  now: Clock,
): CompiledCondition[] {
  return [
    ...(until === undefined ? [] : [compileUntil(until, now)]),
    ...(during === undefined ? [] : [compileDuring(during, now)]),
    ...(principals === undefined ? [] : [compilePrincipals(principals)]),
    ...(roles === undefined ? [] : [compileRoles(roles)]),
    ...(asked === undefined ? [] : [compileAsked(asked)]),
    ...(absent === undefined ? [] : [compileAbsent(absent)]),
    ...compileConditions(when),
    ...history.map(compileHistory),
  ];
}

function compileUntil(until: string, now: Clock): CompiledCondition {
  const end = Date.parse(until);
  return { subject: `until ${until}`, test: ({ time }) => yesOrNo((time?.now ?? now()) < end) };
}

function compileDuring(during: TimeWindow, now: Clock): CompiledCondition {
  const isIn = compileWindow(during);
  return {
    subject: `during ${describeWindow(during)}`,
    test: ({ time }) => yesOrNo(isIn(time?.now ?? now())),
    recurs: true,
  };
}

function compilePrincipals(principals: readonly string[]): CompiledCondition {
  const patterns = principals.map(compileNamePattern);
  return {
    subject: "principals",
    test: ({ principal }) => {
      if (principal === undefined) return "unclear";
      return yesOrNo(patterns.some((pattern) => pattern.matches(principal.id)));
    },
  };
}

function compileRoles(roles: readonly string[]): CompiledCondition {
  return {
    subject: "roles",
    test: ({ principal }) => {
      if (principal === undefined) return "unclear";
      return yesOrNo(roles.some((role) => principal.roles?.includes(role)));
    },
  };
}

function compileAsked(asked: string): CompiledCondition {
  const pattern = compilePattern(asked, { ignoreCase: true });
  return {
    subject: "asked",
    test: ({ history }) => {
      const { userText } = history ?? {};
      if (userText === undefined || userText.length > MAX_WORDS) return "unclear";
      return yesOrNo(pattern.test(userText));
    },
  };
}

function compileAbsent(absent: readonly string[]): CompiledCondition {
  const paths = absent.map(parsePointer);
  const isEmptyAt = (input: JsonValue, path: readonly string[]): Match => {
    const found = lookUp(input, path);
    // A value through which the pointer cannot lead is not what the rule is about.
    return typeof found === "symbol" ? (found === MISSING ? "yes" : "unclear") : yesOrNo(isEmpty(found));
  };
  return {
    subject: `absent ${absent.join(", ")}`,
    test: ({ input }) => allOf(paths, (path) => isEmptyAt(input, path)),
  };
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || value === "" || (isJsonObject(value) && Object.keys(value).length === 0);
}

/** A tool, as far as its name, tags and side effects can be matched. */
interface NamedTool {
  readonly name: string;
  readonly tags?: readonly string[];
  /** Default: `"destructive"`, as in a registry. */
  readonly sideEffects?: SideEffects;
}

/** Returns the tools that a rule concerns. Its conditions, which may be invalid, are left out. */
export function concernedTools<Tool extends NamedTool>(
  { tools: names, tags, sideEffects }: Pick<RuleMatch, "tools" | "tags" | "sideEffects">,
  tools: readonly Tool[],
): Tool[] {
  const parts = {
    ...(names && { tools: names }),
    ...(tags && { tags }),
    ...(sideEffects && { sideEffects }),
  };
  const matcher = new RuleMatcher(parts, Date.now);
  return tools.filter((tool) => matcher.concerns({ sideEffects: "destructive", ...tool }));
}
