import type { Steps } from "../../base/turns.ts";
import type { ConfigPath } from "../../config/source.ts";
import { parsePointer } from "../../json/pointer.ts";
import { equalJson, isJsonObject, type JsonValue } from "../../json/value.ts";
import { isWithinOrigin, type OriginPattern, parseOrigin } from "../grant/net-grant.ts";
import { overlaps } from "../match/spellings.ts";
import { fewValues, valuesAt, valuesOf } from "../possible/possible-values.ts";
import { compileCondition, inputsOf } from "../rule/conditions/condition.ts";
import { type AllowedUse, type DefaultUse, type PolicyRule, usedBy } from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { concernedTools } from "../rule/rule-matcher.ts";
import type { PolicyTool } from "./checked-rule.ts";
import { isImplied } from "./implied-conditions.ts";

/** A part of a rule without which it is the same. */
interface SuperfluousPart {
  readonly path: ConfigPath;
  readonly message: string;
}

/** Members with values of calls, whose lists may have anything. */
const VALUES: ReadonlySet<string> = new Set(["equals", "examples"]);

/** A rule, or a part of it, that changes no decision because of other rules. */
export interface ShadowedRule {
  readonly path: ConfigPath;
  readonly message: string;
}

/** A rule with its index in the policy, and the tools that it concerns. */
interface Placed {
  readonly index: number;
  readonly rule: PolicyRule;
  readonly name: string;
  readonly tools: ReadonlySet<PolicyTool>;
  /** Whether a condition is on an argument that a tool declares as a path or URL, which has other spellings. */
  readonly isSpelled: boolean;
}

/** Maximum number of comparisons of rules with each other. Large policies are not compared completely. */
const MAX_COMPARED = 500_000;

/** Maximum number of rules among which those are looked for that together decide on all calls. */
const MAX_CASES = 32;

/**
 * Finds rules that change no decision, since other rules decide on all their calls, or since they grant what the policy grants by
 * default.
 *
 * @param byDefault Default: `deny`.
 */
export function* shadowedRules(
  rules: readonly (readonly [index: number, rule: PolicyRule])[],
  tools: readonly PolicyTool[],
  byDefault: "deny" | DefaultUse = "deny",
): Steps<readonly ShadowedRule[]> {
  const now = Date.now();
  const placed: Placed[] = [];
  for (const [index, rule] of rules) {
    yield;
    if (rule.until !== undefined && Date.parse(rule.until) <= now) continue;
    const concerned = concernedTools(rule, tools);
    if (concerned.length === 0) continue;
    const name = ruleName(rule, index);
    placed.push({ index, rule, name, tools: new Set(concerned), isSpelled: isSpelled(rule, concerned) });
  }
  const search = new ShadowSearch(placed);
  const shadowed: ShadowedRule[] = [];
  for (const each of placed) {
    yield;
    const found = search.find(each);
    shadowed.push(...found);
    if (found.length === 0 && isDefault(each, placed, byDefault)) shadowed.push(sameAsDefault(each));
  }
  return shadowed;
}

/** Whether a rule grants what its calls get without it, also together with what other rules grant. */
function isDefault(each: Placed, all: readonly Placed[], byDefault: "deny" | DefaultUse): boolean {
  if (each.rule.effect !== "allow" || byDefault === "deny" || byDefault.effect === "ask") return false;
  const { effect: _, ...granted } = byDefault;
  const own = grantOf(each.rule);
  return (
    equalJson(own, grantOf(granted)) &&
    all.every(({ rule, tools }) => {
      const use = usedBy(rule);
      return use === undefined || equalJson(grantOf(use), own) || tools.isDisjointFrom(each.tools);
    })
  );
}

function sameAsDefault({ index }: Placed): ShadowedRule {
  return {
    path: ["rules", index],
    message: "this rule has no effect: 'default' grants the same to calls that no rule matches",
  };
}

class ShadowSearch {
  /** By tool, so that rules are compared only with those that concern the same tools. */
  readonly #rules = new Map<PolicyTool, Placed[]>();
  #compared = 0;

  constructor(rules: readonly Placed[]) {
    for (const rule of rules) {
      for (const tool of rule.tools) {
        const known = this.#rules.get(tool) ?? [];
        known.push(rule);
        this.#rules.set(tool, known);
      }
    }
  }

  find(each: Placed): readonly ShadowedRule[] {
    const path = ["rules", each.index];
    const { effect } = each.rule;
    const noEffect = (by: readonly Placed[], one: string, several: string, remedy = ""): ShadowedRule[] => [
      {
        path,
        message: `this rule has no effect: ${said(by, one, several)} every call that it matches${remedy}`,
      },
    ];
    const denied = this.#coverOf(each, ({ rule }) => rule.effect === "deny");
    if (denied !== undefined)
      return effect === "deny"
        ? noEffect(denied, "already denies", "already deny")
        : noEffect(denied, "denies", "deny");
    if (effect === "deny") return [];
    if (effect === "allow") {
      const allowed = this.#coverOf(
        each,
        (other) => other.rule.effect === "allow" && grantsSame(other, each),
      );
      return allowed === undefined
        ? []
        : noEffect(allowed, "grants the same to", "grant the same to", ": remove one of them");
    }
    const asked = this.#coverOf(each, (other) => asksSame(other, each));
    if (asked !== undefined) return noEffect(asked, "asks about", "ask about");
    if (each.rule.effect !== "ask" || each.rule.remember === undefined) return [];
    const again = this.#coverOf(
      each,
      ({ rule }) => rule.effect === "ask" && rule.remember === undefined,
      false,
    );
    if (again === undefined) return [];
    const message = `no approval is ever remembered: ${said(again, "asks", "ask")} about each of these calls anew. Add 'remember: session' there, too`;
    return [{ path: [...path, "remember"], message }];
  }

  /**
   * Returns the rules of which, for each tool, one applies to all calls to which the rule applies; `undefined` if there are none.
   *
   * @param exceptLater Whether the first of two rules that are the same stays.
   */
  #coverOf(
    each: Placed,
    isMeant: (other: Placed) => boolean,
    exceptLater = true,
  ): readonly Placed[] | undefined {
    const found = new Set<Placed>();
    for (const tool of each.tools) {
      const rules = this.#rules.get(tool) ?? [];
      this.#compared += rules.length;
      if (this.#compared > MAX_COMPARED) return undefined;
      const others = rules.filter((other) => other !== each && isMeant(other));
      const cover = others.find(
        (other) =>
          covers(other, each) &&
          (!exceptLater || other.index < each.index || !covers(each, other) || !isSameKind(each, other)),
      );
      const all = cover === undefined ? coverByCases(each, others, tool) : [cover];
      if (all === undefined) return undefined;
      for (const one of all) found.add(one);
    }
    return [...found];
  }
}

/** Names rules, with what they do. */
function said(rules: readonly Placed[], one: string, several: string): string {
  const names = rules.toSorted((a, b) => a.index - b.index).map(({ name }) => `'${name}'`);
  return `${names.join(", ")} ${names.length === 1 ? one : several}`;
}

/** Returns rules that together apply to all calls: one for each value that an argument can have, and one where it is missing. */
function coverByCases(
  each: Placed,
  others: readonly Placed[],
  { inputSchema }: PolicyTool,
): readonly Placed[] | undefined {
  // So many rules are about single values.
  if (others.length > MAX_CASES) return undefined;
  const keys = new Set(others.flatMap(({ rule }) => Object.keys(rule.when ?? {})));
  for (const key of keys) {
    const [step, ...further] = key.startsWith("/") ? parsePointer(key) : [];
    if (step === undefined || further.length > 0 || step === "*") continue;
    const values = fewValues(inputSchema, valuesAt(inputSchema, valuesOf(inputSchema), step));
    if (values === undefined || values.length === 0) continue;
    const cases = values.map((value): Placed => {
      const when = { all: [each.rule.when ?? {}, { [key as "/"]: { equals: value } }] };
      return { ...each, rule: { ...each.rule, when } };
    });
    const found = cases.map((one) => others.find((other) => covers(other, one)));
    const { required } = inputSchema;
    if (!Array.isArray(required) || !required.includes(step)) {
      found.push(others.find((other) => covers(withoutKey(other, key, each), each)));
    }
    if (found.every((one) => one !== undefined)) return found;
  }
  return undefined;
}

/** A rule without its condition on an argument, if it applies where that is missing, in place of another rule. */
function withoutKey({ rule, ...placed }: Placed, key: string, inPlaceOf: Placed): Placed {
  const { [key as "/"]: condition, ...others } = rule.when ?? {};
  const met = condition && compileCondition(key, condition)({ input: {}, sessionId: "" });
  // A rule grants only where it certainly matches.
  const applies = usedBy(inPlaceOf.rule) === undefined ? met !== undefined && met !== "no" : met === "yes";
  return { ...placed, rule: applies ? { ...rule, when: others } : rule };
}

function isSameKind(each: Placed, other: Placed): boolean {
  return each.rule.effect === other.rule.effect && [...each.tools].every((tool) => other.tools.has(tool));
}

function covers(broad: Placed, narrow: Placed): boolean {
  if (!isImplied(broad.rule, narrow.rule)) return false;
  // A rule grants only where it certainly matches.
  const grants = broad.rule.effect === "ask" && usedBy(narrow.rule) !== undefined;
  if (grants && !isImplied(broad.rule, narrow.rule, false)) return false;
  // Where another spelling makes it unclear whether one of them matches, the other one need not be unclear.
  return narrow.rule.effect === "allow" || !broad.isSpelled || sameConditions(broad.rule, narrow.rule);
}

function sameConditions({ when: one = {} }: PolicyRule, { when: other = {} }: PolicyRule): boolean {
  const entries = Object.entries(one);
  return entries.every(([key, value]) =>
    equalJson(value as JsonValue, ((other as Record<string, unknown>)[key] ?? null) as JsonValue),
  );
}

function grantsSame(other: Placed, each: Placed): boolean {
  const [one, two] = [usedBy(other.rule), usedBy(each.rule)];
  return one !== undefined && two !== undefined && equalJson(grantOf(one), grantOf(two));
}

function grantOf({ sandboxes, isolation, limits = {}, capabilities = {} }: AllowedUse): JsonValue {
  return { sandboxes, isolation: isolation ?? "", limits, capabilities } as unknown as JsonValue;
}

/** Whether a rule asks the same as another, grants nothing else, and is remembered where the other one is. */
function asksSame({ rule: other, ...placed }: Placed, each: Placed): boolean {
  const { rule } = each;
  if (other.effect !== "ask" || rule.effect !== "ask") return false;
  if (rule.question !== undefined && rule.question !== other.question) return false;
  if (other.remember !== undefined && rule.remember === undefined) return false;
  return usedBy(rule) === undefined || grantsSame({ rule: other, ...placed }, each);
}

function isSpelled({ when = {} }: PolicyRule, tools: readonly PolicyTool[]): boolean {
  const steps = inputsOf(when);
  return tools.some(({ access: { paths = [], urls = [] } = {} }) =>
    [...paths, ...urls].some(({ argument }) => steps.some((each) => overlaps(parsePointer(argument), each))),
  );
}

/** Finds parts of a rule that change nothing, whatever tools there are. */
export function superfluousParts(rule: PolicyRule): readonly SuperfluousPart[] {
  return [
    ...repeatedItems(rule as unknown as JsonValue, []),
    ...(rule.when === undefined ? [] : emptyConditions(rule.when as unknown as JsonValue, ["when"])),
    ...emptyCapabilities(rule),
    ...coveredOrigins(rule),
  ];
}

/** Finds items of lists in a value that an earlier item equals. */
export function repeatedItems(value: JsonValue, path: ConfigPath): readonly SuperfluousPart[] {
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    const known = new Set<JsonValue>();
    return items.flatMap((item, index) => {
      const isScalar = typeof item !== "object";
      const isRepeated = isScalar
        ? known.has(item)
        : items.slice(0, index).some((earlier) => equalJson(earlier, item));
      known.add(item);
      if (isRepeated) return [{ path: [...path, index], message: "the same stands before: remove this" }];
      return path.at(-1) === "oneOf" ? [] : repeatedItems(item, [...path, index]);
    });
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    VALUES.has(name) || member === undefined ? [] : repeatedItems(member, [...path, name]),
  );
}

function emptyConditions(when: JsonValue, path: ConfigPath): readonly SuperfluousPart[] {
  if (!isJsonObject(when)) return [];
  if (Object.keys(when).length === 0) {
    const message = "no condition is here, which every call meets: add one, or remove this";
    return [{ path, message }];
  }
  return ["all", "any"].flatMap((member) => {
    const parts = when[member];
    if (!Array.isArray(parts)) return [];
    return parts.flatMap((part: JsonValue, index) => emptyConditions(part, [...path, member, index]));
  });
}

function emptyCapabilities(rule: PolicyRule): readonly SuperfluousPart[] {
  return Object.entries(usedBy(rule)?.capabilities ?? {}).flatMap(([name, granted]) => {
    if (!Array.isArray(granted) || granted.length > 0) return [];
    const message = "this grants nothing, as a rule without it does: remove it, or list what is granted";
    return [{ path: ["capabilities", name], message }];
  });
}

function coveredOrigins(rule: PolicyRule): readonly SuperfluousPart[] {
  const origins = (usedBy(rule)?.capabilities?.net ?? []).map((grant) =>
    typeof grant === "string" ? parsed(grant) : undefined,
  );
  return origins.flatMap((each, index) => {
    const other = origins.find(
      (one) =>
        one !== undefined &&
        each !== undefined &&
        one.grant !== each.grant &&
        isWithinOrigin(each.origin, one.origin),
    );
    if (other === undefined) return [];
    const message = `'${other.grant}' grants this, too: remove one of them`;
    return [{ path: ["capabilities", "net", index], message }];
  });
}

/** Returns `undefined` for an origin that is not valid, which is reported as such. */
function parsed(grant: string): { readonly grant: string; readonly origin: OriginPattern } | undefined {
  try {
    return { grant, origin: parseOrigin(grant) };
  } catch {
    return undefined;
  }
}
