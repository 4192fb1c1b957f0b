import type { Steps } from "../../base/turns.ts";
import type { Flaw } from "../../config/shape.ts";
import { LIST_INDEX, parsePointer } from "../../json/pointer.ts";
import { compilePattern, type PatternOptions } from "../../patterns/pattern.ts";
import { PatternError } from "../../patterns/pattern-syntax.ts";
import { rowKeys } from "../call-history.ts";
import { checkCapabilities } from "../grant/capabilities.ts";
import {
  isOriginTemplate,
  mostOf,
  type OriginTemplate,
  type RuleCapabilities,
} from "../grant/execution-grant.ts";
import { checkNetGrant, type NetGrant } from "../grant/net-grant.ts";
import { compileGlob } from "../match/glob.ts";
import { checkPrincipal, type Principal } from "../principal.ts";
import type { Match } from "./conditions/comparison.ts";
import { windowFlaws } from "./conditions/time-window.ts";
import { namedFields } from "./conditions/tracked-fields.ts";
import { isReference } from "./conditions/value-reference.ts";
import { historyFlaws } from "./history-conditions.ts";
import {
  type AllowedUse,
  type GlobSegments,
  type PolicyRule,
  type RuleCondition,
  type RuleConditions,
  type RuleExample,
  type UntrustedResult,
  usedBy,
} from "./rule.ts";
import { RuleMatcher } from "./rule-matcher.ts";

/** The most that the patterns of a policy can have together, in characters with repetitions expanded: about 200 MB. */
const MAX_TOTAL_SIZE = 500_000;

/** What each pattern takes besides, in characters. */
const SIZE_OF_PATTERN = 8;

/** Compiles the patterns of one policy while it is checked, as long as they are not too large together. */
class PatternBudget {
  readonly #known = new Set<string>();
  #size = 0;

  /**
   * Returns what is wrong with a pattern, for operators; `undefined` if it is valid. That the patterns are too large
   * together is said of the first one that is too many.
   */
  flawOf(source: string, options: PatternOptions = {}): string | undefined {
    const key = `${options.ignoreCase === true} ${source}`;
    if (this.#known.has(key) || this.#size > MAX_TOTAL_SIZE) return undefined;
    try {
      this.#size += SIZE_OF_PATTERN + compilePattern(source, options).size;
      this.#known.add(key);
    } catch (error) {
      if (error instanceof PatternError) return error.message;
      throw error;
    }
    if (this.#size <= MAX_TOTAL_SIZE) return undefined;
    return `the patterns of the policy are larger than ${MAX_TOTAL_SIZE} characters together, with their repetitions expanded`;
  }
}

/** A step into a result, with the first field in the policy that is marked here, and the first here or below. */
interface ResultNode {
  readonly members: Map<string, ResultNode>;
  marked?: MarkedField;
  first?: MarkedField;
}

interface MarkedField {
  readonly field: string;
  readonly order: number;
}

/** The fields of results that a policy marks as written by outsiders, by tool and path. */
export class MarkedFields {
  readonly #results = new Map<string, ResultNode>();

  constructor(untrusted: readonly UntrustedResult[]) {
    let order = 0;
    for (const { tool, fields = [""] } of untrusted) {
      const root = placeIn(this.#results, tool);
      for (const field of fields) mark(root, { field, order: order++ });
    }
  }

  /** Returns the first marked field of a tool that a field is in, or that is in it; `undefined` if none. */
  find(tool: string, field: string): string | undefined {
    let place = this.#results.get(tool);
    let found = place?.marked;
    const earlier = (other: MarkedField | undefined): MarkedField | undefined =>
      found === undefined || (other !== undefined && other.order < found.order) ? other : found;
    for (const step of stepsOf(field)) {
      place = place?.members.get(step);
      found = earlier(place?.marked);
    }
    return earlier(place?.first)?.field;
  }
}

/** Rules are checked as if they did not end, so that a policy loads next year, too. */
const BEFORE_EVERY_END = (): number => Number.NEGATIVE_INFINITY;

/** Returns the name of a rule, which defaults to its number. */
export function ruleName({ name }: Pick<PolicyRule, "name">, index: number): string {
  return name ?? `rule ${index + 1}`;
}

/**
 * Finds flaws that the shape of rules does not cover: duplicate names, invalid globs, regular expressions and dates,
 * empty ranges, untrusted sources, members of conditions on earlier calls that do not go together, capabilities that are
 * invalid or contradict each other, and examples for which a rule does something else.
 */
export function* ruleFlaws(
  rules: Iterable<readonly [index: number, rule: PolicyRule]>,
  otherwise: "deny" | AllowedUse = "deny",
  untrusted: readonly UntrustedResult[] = [],
): Steps<Flaw[]> {
  const names = new Map<string, number>();
  const flaws: Flaw[] = [];
  const all = [...rules];
  const patterns = new PatternBudget();
  for (const [index, rule] of all) {
    yield;
    const path = ["rules", String(index)];
    const name = ruleName(rule, index);
    const first = names.get(name);
    if (first === undefined) names.set(name, index);
    else flaws.push(valueFlaw([...path, "name"], `the name '${name}' is already used by rule ${first + 1}`));
    if (rule.until !== undefined && !isTime(rule.until)) {
      flaws.push(valueFlaw([...path, "until"], "there is no such date or time"));
    }
    const windowed = rule.during === undefined ? [] : windowFlaws([...path, "during"], rule.during);
    flaws.push(...capabilityFlaws([...path, "capabilities"], usedBy(rule)?.capabilities));
    const invalid = [
      ...windowed,
      ...(rule.asked === undefined ? [] : askedFlaws([...path, "asked"], rule.asked, patterns)),
      ...conditionFlaws([...path, "when"], rule.when, patterns),
      ...historyFlaws([...path, "history"], rule.history),
    ];
    flaws.push(...(invalid.length > 0 ? invalid : exampleFlaws(path, rule)));
  }
  flaws.push(...untrustedFlaws(all, untrusted));
  if (otherwise !== "deny")
    flaws.push(...capabilityFlaws(["default", "capabilities"], otherwise.capabilities));
  return flaws;
}

/** Whether a text in the right form is a time: JavaScript would take February 30 for a day in March. */
function isTime(text: string): boolean {
  const date = text.slice(0, 10);
  const parsed = new Date(date);
  if (Number.isNaN(parsed.getTime()) || !parsed.toISOString().startsWith(date)) return false;
  return !Number.isNaN(Date.parse(text));
}

function askedFlaws(path: readonly string[], source: string, patterns: PatternBudget): Flaw[] {
  const message = patterns.flawOf(source, { ignoreCase: true });
  return message === undefined ? [] : [valueFlaw(path, message)];
}

function valueFlaw(path: readonly string[], message: string): Flaw {
  return { path, at: "value", message };
}

/** Finds rules that have values come from results that the policy says outsiders can write. */
function untrustedFlaws(
  rules: Iterable<readonly [index: number, rule: PolicyRule]>,
  untrusted: readonly UntrustedResult[] = [],
): Flaw[] {
  const flaws: Flaw[] = [];
  const markedFields = new MarkedFields(untrusted);
  for (const [index, rule] of rules) {
    for (const { path, field, isSource } of namedFields(rule.when)) {
      if (!isSource || field === "user") continue;
      const tool = "lookup" in field ? field.lookup : field.tool;
      const fields = [field.field, ...("row" in field ? rowKeys(field) : [])];
      const marked = fields.map((each) => markedFields.find(tool, each)).find((each) => each !== undefined);
      if (marked === undefined) continue;
      const what = marked === "" ? `the results of '${tool}'` : `'${marked}' in the results of '${tool}'`;
      const message = `${what} cannot be a source: 'untrusted' says that outsiders write it`;
      flaws.push({ path: ["rules", String(index), "when", ...path, "field"], at: "value", message });
    }
  }
  return flaws;
}

/** Finds flaws that the shape of capabilities does not cover, each at the value that has it. */
function capabilityFlaws(path: readonly string[], capabilities: RuleCapabilities = {}): Flaw[] {
  const { net = [], ...others } = capabilities;
  return [
    ...net.flatMap((grant, index) => netFlaws([...path, "net", String(index)], grant)),
    ...Object.entries(mostOf(others)).flatMap(([name, value]) =>
      flawsOf([...path, name], () => checkCapabilities({ [name]: value })),
    ),
  ];
}

function netFlaws(path: readonly string[], grant: NetGrant | OriginTemplate): Flaw[] {
  if (typeof grant === "string") return flawsOf(path, () => checkNetGrant(grant));
  if (isOriginTemplate(grant)) {
    return grant.within.flatMap((origin, index) => netFlaws([...path, "within", String(index)], origin));
  }
  const { origin, addresses = [] } = grant;
  const originFlaws = flawsOf([...path, "origin"], () => checkNetGrant(origin));
  if (originFlaws.length > 0) return originFlaws;
  return addresses.flatMap((range, index) =>
    flawsOf([...path, "addresses", String(index)], () => checkNetGrant({ origin, addresses: [range] })),
  );
}

function flawsOf(path: readonly string[], check: () => unknown): Flaw[] {
  try {
    check();
    return [];
  } catch (error) {
    return [{ path, at: "value", message: (error as Error).message }];
  }
}

/**
 * Finds the examples of a rule for which the rule does something else than they say. If it is unclear whether a rule
 * matches, a rule that denies or asks applies, and one that allows does not.
 *
 * @param path Of the rule, which has no other flaws.
 */
function exampleFlaws(path: readonly string[], rule: PolicyRule): readonly Flaw[] {
  // An example has no earlier calls and no time.
  const { examples: { match = [], noMatch = [] } = {}, history: _, during: __, ...ofCall } = rule;
  if (match.length + noMatch.length === 0) return [];
  const matcher = new RuleMatcher(ofCall, BEFORE_EVERY_END);
  const check = (member: "match" | "noMatch", example: RuleExample, index: number): readonly Flaw[] => {
    const message = problemOf(matcher, rule, member, example);
    if (message === undefined) return [];
    return [{ path: [...path, "examples", member, String(index)], at: "value", message }];
  };
  return [
    ...match.flatMap((example, index) => check("match", example, index)),
    ...noMatch.flatMap((example, index) => check("noMatch", example, index)),
  ];
}

function problemOf(
  matcher: RuleMatcher,
  { effect }: PolicyRule,
  member: "match" | "noMatch",
  { arguments: input, principal }: RuleExample,
): string | undefined {
  let caller: Principal | undefined;
  try {
    caller = principal && checkPrincipal(principal);
  } catch (error) {
    return (error as Error).message;
  }
  const call = { input, sessionId: "example", principal: caller };
  const found: Match = matcher.match(call);
  const applies = found === "yes" || (found === "unclear" && effect !== "allow");
  if (applies === (member === "match")) return undefined;
  if (found === "yes") return "the rule matches this example";
  const missed = matcher.missedConditions(call).join(", ");
  if (found === "no") return `the rule does not match this example: ${missed}`;
  return `it is unclear whether the rule matches this example, so it ${effect === "allow" ? "allows nothing" : "applies"}: ${missed}`;
}

function mark(root: ResultNode, marked: MarkedField): void {
  let place = root;
  place.first ??= marked;
  for (const step of stepsOf(marked.field)) {
    place = placeIn(place.members, step);
    place.first ??= marked;
  }
  place.marked ??= marked;
}

function placeIn(places: Map<string, ResultNode>, name: string): ResultNode {
  let place = places.get(name);
  if (place === undefined) {
    place = { members: new Map() };
    places.set(name, place);
  }
  return place;
}

/** Elements of lists are not distinguished. */
function stepsOf(field: string): string[] {
  return parsePointer(field).filter((step) => step !== "*" && !LIST_INDEX.test(step));
}

/** Finds flaws of conditions that their shape does not cover: invalid globs and regular expressions, empty ranges. */
function conditionFlaws(
  path: readonly string[],
  { all = [], any = [], ...entries }: RuleConditions = {},
  patterns: PatternBudget,
): Flaw[] {
  return [
    ...Object.entries(entries).flatMap(([key, condition]) =>
      flawsOfCondition([...path, key], condition, patterns),
    ),
    ...all.flatMap((nested, index) => conditionFlaws([...path, "all", String(index)], nested, patterns)),
    ...any.flatMap((nested, index) => conditionFlaws([...path, "any", String(index)], nested, patterns)),
  ];
}

function flawsOfCondition(
  path: readonly string[],
  condition: RuleCondition,
  patterns: PatternBudget,
): Flaw[] {
  if ("not" in condition) return flawsOfCondition([...path, "not"], condition.not, patterns);
  if ("all" in condition) return flawsOfItems([...path, "all"], condition.all, patterns);
  if ("any" in condition) return flawsOfItems([...path, "any"], condition.any, patterns);
  if ("regex" in condition) {
    const message = patterns.flawOf(condition.regex);
    return message === undefined ? [] : [{ path: [...path, "regex"], at: "value", message }];
  }
  if ("range" in condition) {
    const { min, max } = condition.range;
    if (typeof min !== "number" || typeof max !== "number" || min <= max) return [];
    const message = "the range is empty: min is greater than max";
    return [{ path: [...path, "range"], at: "value", message }];
  }
  if (!("glob" in condition)) return [];
  const { glob } = condition;
  if (!Array.isArray(glob)) return globFlaws([...path, "glob"], glob as string | GlobSegments);
  return (glob as readonly (string | GlobSegments)[]).flatMap((item, index) =>
    globFlaws([...path, "glob", String(index)], item),
  );
}

function globFlaws(path: readonly string[], glob: string | GlobSegments): Flaw[] {
  if (typeof glob === "string") return syntaxFlaws(path, () => compileGlob(glob));
  const { segments } = glob;
  const at = [...path, "segments"];
  if (!segments.some(isReference)) return [valueFlaw(at, "none of these is a reference: write one glob")];
  return segments.flatMap((segment, index) => {
    if (typeof segment !== "string") return [];
    const place = [...at, String(index)];
    const isPath = /^[^/].*[^/]$|^[^/]$/s.test(index === 0 ? segment.replace(/^\//, "") : segment);
    if (!isPath) return [valueFlaw(place, "must be one or several segments, without a '/' at either end")];
    return syntaxFlaws(place, () => compileGlob(segment));
  });
}

function flawsOfItems(
  path: readonly string[],
  conditions: readonly RuleCondition[],
  patterns: PatternBudget,
): Flaw[] {
  return conditions.flatMap((condition, index) =>
    flawsOfCondition([...path, String(index)], condition, patterns),
  );
}

function syntaxFlaws(path: readonly string[], compile: () => unknown): Flaw[] {
  try {
    compile();
    return [];
  } catch (error) {
    return [{ path, at: "value", message: (error as Error).message }];
  }
}
