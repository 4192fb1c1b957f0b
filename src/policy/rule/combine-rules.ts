import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import { type AskOptions, allow, ask, type DenyDecision, deny, type PolicyDecision } from "../decision.ts";
import { type Capabilities, commonCapabilities } from "../grant/capabilities.ts";
import { fillIn, type TemplateSource } from "../grant/grant-template.ts";
import { strictestLimits } from "../grant/limits.ts";
import { TemplateRefusal } from "../grant/template-refusal.ts";
import type { PolicySubject } from "../policy.ts";
import type { AppliedRule } from "./compiled-rule.ts";
import type { AllowedUse } from "./rule.ts";

/**
 * Decides on a call to which all these rules apply: asks if one of them asks, and grants what all of them allow that
 * grant anything.
 *
 * @param mayGrant Whether one of the rules certainly matches, so that the call gets what they grant.
 * @param call Fills in what capabilities take from the call.
 */
export function combineRules(
  applied: readonly AppliedRule[],
  tool: PolicySubject,
  mayGrant: boolean,
  call: TemplateSource,
): PolicyDecision {
  const inOrder = applied.toSorted((a, b) => a.place - b.place);
  const questions = inOrder.filter(({ question }) => question !== undefined);
  const granting = mayGrant ? inOrder.filter(({ use }) => use !== undefined) : [];
  const rules = inOrder.filter((rule) => questions.includes(rule) || granting.includes(rule));
  const names = rules.map(({ name }) => name);
  const [first, ...others] = granting.map(({ use }) => use as AllowedUse);
  if (first === undefined) return askAbout(questions, { rules: names });
  const sandboxes = commonSandboxes(first, others, tool);
  const [sandbox] = sandboxes;
  if (sandbox === undefined) {
    const needed = granting.map(({ name }) => `'${name}'`).join(", ");
    return deny(`the tool cannot run in any sandbox that all matching rules allow: ${needed}`, {
      rules: granting.map(({ name }) => name),
    });
  }
  const filledIn = granting.map((rule) => fillInFor(rule, call));
  const refusal = filledIn.find((each) => "decision" in each);
  if (refusal !== undefined) return refusal;
  const limits = granting.map(({ use }) => use?.limits ?? {}).reduce(strictestLimits);
  const capabilities = (filledIn as readonly Capabilities[]).reduce(commonCapabilities);
  const isolation = granting.find(({ use }) => use?.isolation !== undefined)?.use?.isolation;
  const grant = { sandbox, ...(isolation && { isolation }), limits, capabilities };
  if (questions.length > 0) return askAbout(questions, { grant, sandboxes, rules: names });
  return allow(grant, { sandboxes, rules: names });
}

/** Returns the capabilities that a rule grants to a call, or a denial if they depend on what the call does not have. */
function fillInFor({ name, use }: AppliedRule, call: TemplateSource): Capabilities | DenyDecision {
  try {
    return fillIn(use?.capabilities ?? {}, call);
  } catch (error) {
    if (!(error instanceof TemplateRefusal)) throw error;
    return deny(`'${name}' cannot grant anything to this call: ${error.message}`, { rules: [name] });
  }
}

function askAbout(questions: readonly AppliedRule[], options: AskOptions): PolicyDecision {
  const texts = new Set(questions.map(({ question = "" }) => question));
  const isRemembered = questions.every((rule) => rule.isRemembered);
  return ask([...texts].join("\n"), { ...options, ...(isRemembered && { remember: "session" }) });
}

/** The sandboxes in which the tool can run and that all list, in the order of the first. */
function commonSandboxes(
  { sandboxes }: AllowedUse,
  others: readonly AllowedUse[],
  tool: PolicySubject,
): readonly SandboxMode[] {
  return sandboxes.filter(
    (mode) => tool.sandboxes.includes(mode) && others.every((other) => other.sandboxes.includes(mode)),
  );
}
