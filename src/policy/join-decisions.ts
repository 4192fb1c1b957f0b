import type { SandboxMode } from "../tool/sandbox-mode.ts";
import {
  type AllowDecision,
  type AskDecision,
  type AskOptions,
  allow,
  ask,
  type DenyDecision,
  deny,
  type PolicyDecision,
} from "./decision.ts";
import { commonCapabilities } from "./grant/capabilities.ts";
import type { GrantOptions } from "./grant/execution-grant.ts";
import { strictestLimits } from "./grant/limits.ts";

/** Earlier results. Policies of rules return the same decisions again, and what comes from them is then the same, too. */
const joined = new WeakMap<PolicyDecision, WeakMap<PolicyDecision, PolicyDecision>>();

/** Returns the strictest of two checked decisions, with the grants and the rules of both. */
export function joinDecisions(a: PolicyDecision, b: PolicyDecision): PolicyDecision {
  if (a === b) return a;
  let others = joined.get(a);
  if (others === undefined) {
    others = new WeakMap();
    joined.set(a, others);
  }
  let decision = others.get(b);
  if (decision === undefined) {
    decision = join(a, b);
    others.set(b, decision);
  }
  return decision;
}

function join(a: PolicyDecision, b: PolicyDecision): PolicyDecision {
  if (a.decision === "deny") return b.decision === "deny" ? joinDenials(a, b) : a;
  if (b.decision === "deny") return b;
  const options = rulesOf(a, b);
  if (a.grant === undefined || b.grant === undefined) return joinQuestions(a, b, options);
  const sandboxes = sandboxesOf(a).filter((mode) => sandboxesOf(b).includes(mode));
  const [sandbox] = sandboxes;
  if (sandbox === undefined) return deny("the policies accept no sandbox in common for this call", options);
  const isolation = a.grant.isolation ?? b.grant.isolation;
  const grant: GrantOptions = {
    sandbox,
    ...(isolation && { isolation }),
    limits: strictestLimits(a.grant.limits, b.grant.limits),
    capabilities: commonCapabilities(a.grant.capabilities, b.grant.capabilities),
  };
  if (a.decision === "ask" || b.decision === "ask") {
    return joinQuestions(a, b, { ...options, grant, sandboxes });
  }
  return allow(grant, { ...options, sandboxes });
}

function joinDenials(a: DenyDecision, b: DenyDecision): DenyDecision {
  const near = [...(a.near ?? []), ...(b.near ?? [])];
  return deny(joinTexts([a.reason, b.reason], "; "), { ...rulesOf(a, b), ...(near.length > 0 && { near }) });
}

function joinQuestions(
  a: AllowDecision | AskDecision,
  b: AllowDecision | AskDecision,
  options: AskOptions,
): AskDecision {
  const questions = [a, b].filter((decision) => decision.decision === "ask");
  const isRemembered = questions.every(({ remember }) => remember === "session");
  const text = joinTexts(
    questions.map(({ question }) => question),
    "\n",
  );
  return ask(text, { ...options, ...(isRemembered && { remember: "session" }) });
}

function joinTexts(texts: readonly string[], separator: string): string {
  return [...new Set(texts)].join(separator);
}

function rulesOf(a: PolicyDecision, b: PolicyDecision): { rules?: readonly string[] } {
  const rules = [...new Set([...(a.rules ?? []), ...(b.rules ?? [])])];
  return rules.length === 0 ? {} : { rules };
}

function sandboxesOf({ grant, sandboxes }: AllowDecision | AskDecision): readonly SandboxMode[] {
  return sandboxes ?? (grant === undefined ? [] : [grant.sandbox]);
}
