import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import { type Capabilities, commonCapabilities } from "../grant/capabilities.ts";
import {
  hasTemplates,
  isOriginTemplate,
  type OriginTemplate,
  type RuleCapabilities,
} from "../grant/execution-grant.ts";
import { isWithinOrigin, type NetGrant, originOf, parseOrigin } from "../grant/net-grant.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import type { PolicySubject } from "../policy.ts";
import type { AppliedRule, CompiledRule } from "../rule/combine-rules.ts";
import type { AllowedUse, DefaultUse } from "../rule/rule.ts";
import { type CapabilitySelection, type Invariant, selectionOf } from "./invariant.ts";

/** Rules that can be all that grant something to a call of a tool. Every further rule that matches only narrows it. */
export interface MinimalGrant {
  /** In the order of the policy; empty for the policy's `default`. */
  readonly rules: readonly AppliedRule[];
  readonly uses: readonly AllowedUse[];
  /** Whether a person is certainly asked. */
  readonly isAsked: boolean;
  /** What the rules without templates have in common, if they are several. */
  readonly common: Capabilities | undefined;
}

/**
 * Returns the sets of rules that can grant something to a call of a tool and of which no other set is a part. Every
 * grant of the policy to a call of the tool stays within that of one of them. There are none if every call is denied.
 *
 * A rule whose match depends on more than the tool may match a call or not, whatever its conditions are: it can be the
 * only one that grants something, and denies nothing and asks nothing for certain. A rule that ends is one of these.
 *
 * @param rules Those that name the tool.
 */
export function minimalGrants(
  rules: readonly CompiledRule[],
  tool: PolicySubject,
  byDefault: DefaultUse | undefined,
): readonly MinimalGrant[] {
  const concerned = rules.filter(({ matcher }) => matcher.concerns(tool));
  if (concerned.some(({ kind, matcher }) => kind === "denial" && !matcher.isConditional)) return [];
  const permissions = concerned.filter((rule) => rule.kind === "permission");
  const always = permissions.filter(({ matcher }) => !matcher.isConditional).map(appliedOf);
  const isAsked = always.some(asks);
  const granting = always.filter(grants);
  if (granting.length > 0) return [minimalGrant(granting, isAsked)];
  const sometimes = permissions.filter(({ matcher }) => matcher.isConditional).map(appliedOf);
  return [
    ...sometimes.filter(grants).map((rule) => minimalGrant([rule], isAsked || asks(rule))),
    ...(byDefault === undefined ? [] : [defaultGrant(byDefault, isAsked)]),
  ];
}

/** Whether a grant within this one may violate an invariant that is about the tool. */
export function mayViolate(
  { uses, isAsked, common }: MinimalGrant,
  tool: PolicySubject,
  invariant: Invariant,
): boolean {
  if ("always" in invariant && isAsked) return false;
  const { sandboxes = tool.sandboxes, capabilities } = selectionOf(invariant);
  const isAccepted = sandboxes.some(
    (mode) => tool.sandboxes.includes(mode) && uses.every((use) => use.sandboxes.includes(mode)),
  );
  if (!isAccepted || !uses.every((use) => hasSelected(use.capabilities, capabilities))) return false;
  return common === undefined || hasSelected(common, capabilities);
}

/** Groups grants that no invariant about their tool can distinguish: policies have many rules with the same grant. */
export function groupAlike(grants: readonly MinimalGrant[]): readonly (readonly MinimalGrant[])[] {
  if (grants.length < 2) return grants.map((grant) => [grant]);
  return [...Map.groupBy(grants, ({ uses, isAsked }) => `${isAsked} ${uses.map(textOf).join()}`).values()];
}

const texts = new WeakMap<AllowedUse, string>();

function textOf(use: AllowedUse): string {
  let text = texts.get(use);
  if (text === undefined) {
    const { sandboxes, capabilities = {} } = use;
    text = canonicalText([sandboxes, capabilities] as unknown as JsonValue);
    texts.set(use, text);
  }
  return text;
}

function defaultGrant(use: DefaultUse, isAsked: boolean): MinimalGrant {
  return { rules: [], uses: [use], isAsked: isAsked || use.effect === "ask", common: undefined };
}

function minimalGrant(rules: readonly AppliedRule[], isAsked: boolean): MinimalGrant {
  const uses = rules.map(({ use }) => use as AllowedUse);
  // The value of a template depends on the call, and so does what it has in common with another grant.
  const fixed = uses.filter(({ capabilities }) => !hasTemplates(capabilities));
  const common =
    fixed.length > 1
      ? fixed.map(({ capabilities = {} }) => capabilities as Capabilities).reduce(commonCapabilities)
      : undefined;
  return { rules, uses, isAsked, common };
}

function appliedOf({ whenMatched }: Extract<CompiledRule, { kind: "permission" }>): AppliedRule {
  return whenMatched;
}

function asks({ question }: AppliedRule): boolean {
  return question !== undefined;
}

function grants({ use }: AppliedRule): boolean {
  return use !== undefined;
}

/**
 * Whether capabilities of a grant, or the most that those of a rule can become, have all that a selection names.
 *
 * Proofs depend on this: if the capabilities that several rules have in common are selected, those of each rule are.
 */
export function hasSelected(granted: RuleCapabilities = {}, selection: CapabilitySelection = {}): boolean {
  return Object.keys(selection).every((name) =>
    hasOne(name as keyof CapabilitySelection, granted, selection),
  );
}

function hasOne(
  name: keyof CapabilitySelection,
  granted: RuleCapabilities,
  selection: CapabilitySelection,
): boolean {
  const capability = granted[name];
  if (capability === undefined || capability === false) return false;
  if (Array.isArray(capability) && capability.length === 0) return false;
  const selected = selection[name];
  if (selected === "any" || selected === undefined) return true;
  if (selected === "write") return granted.fs?.some(({ write }) => write === true) ?? false;
  if ("outside" in selected) return hasOriginOutside(granted.net, selected.outside);
  if (name !== "tools") return selected.some((item) => (capability as readonly string[]).includes(item));
  const patterns = (granted.tools ?? []).map(compileNamePattern);
  return selected.some((tool) => patterns.some(({ matches }) => matches(tool)));
}

function hasOriginOutside(
  net: readonly (NetGrant | OriginTemplate)[] = [],
  outside: readonly string[],
): boolean {
  const bounds = outside.map(parseOrigin);
  const origins = net.flatMap((grant) => (isOriginTemplate(grant) ? grant.within : originOf(grant)));
  return origins.some((origin) => {
    const granted = parseOrigin(origin);
    return !bounds.some((bound) => isWithinOrigin(granted, bound));
  });
}
