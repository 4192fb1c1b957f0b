import { adopt, isThenable } from "../base/promises.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import type { TrackedFields } from "./call-history.ts";
import { CAPABILITY_NAMES, type CapabilityName, commonCapabilities } from "./grant/capabilities.ts";
import type { ExecutionGrant, GrantOptions } from "./grant/execution-grant.ts";
import { LIMIT_NAMES, strictestLimits } from "./grant/limits.ts";
import {
  type AllowDecision,
  type AskDecision,
  type AskOptions,
  allow,
  ask,
  checkDecision,
  type DenyDecision,
  deny,
  type GrantOrigins,
  NO_ORIGINS,
  type PolicyDecision,
  type PolicyExplanation,
  type PolicyPlace,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "./policy.ts";
import type { Principal } from "./principal.ts";

/** Earlier results. Policies of rules return the same decisions again, and what comes from them is then the same, too. */
const joined = new WeakMap<PolicyDecision, WeakMap<PolicyDecision, PolicyDecision>>();

/** Stands for the rules of a policy that does not explain where its grant comes from. */
const UNNAMED = "a policy in code";

/**
 * Joins policies to one that allows a call only if all of them do: `deny` wins over `ask`, and `ask` over `allow`. The
 * grant stays within those of all: the lowest of each limit, the capabilities that all grant, and the first sandbox of
 * the first policy that all accept. Every policy decides on every call. If one of them throws, the call is denied.
 *
 * @throws {TypeError} if there is no policy.
 */
export function strictest(...policies: readonly RuntimePolicy[]): RuntimePolicy {
  if (policies.length === 0) throw new TypeError("strictest needs at least one policy");
  const [only, ...others] = policies;
  return others.length === 0 ? (only as RuntimePolicy) : new StrictestPolicy(policies);
}

class StrictestPolicy implements RuntimePolicy {
  readonly #policies: readonly RuntimePolicy[];

  constructor(policies: readonly RuntimePolicy[]) {
    this.#policies = policies.flatMap((policy) =>
      policy instanceof StrictestPolicy ? policy.#policies : [policy],
    );
  }

  /** The revisions of all policies that have one; `undefined` if none has. */
  get revision(): string | undefined {
    const revisions = this.#policies.flatMap(({ revision }) => revision ?? []);
    return revisions.length === 0 ? undefined : revisions.join(" + ");
  }

  /** The sources of all policies; none if one of them is in code. */
  get sources(): readonly string[] {
    const sources = this.#policies.map((policy) => policy.sources ?? []);
    return sources.some(({ length }) => length === 0) ? [] : sources.flat();
  }

  get places(): readonly (PolicyPlace | undefined)[] {
    return this.#policies.flatMap(({ sources = [], places }) => sources.map((_, index) => places?.[index]));
  }

  get usesHistory(): boolean {
    return this.#policies.some(({ usesHistory }) => usesHistory === true);
  }

  get trackedFields(): TrackedFields {
    const all = this.#policies.flatMap(({ trackedFields }) => trackedFields ?? []);
    const untrusted = all.flatMap((fields) => fields.untrusted ?? []);
    return {
      sources: all.flatMap(({ sources }) => sources),
      contents: all.flatMap(({ contents }) => contents),
      ...(untrusted.length > 0 && { untrusted }),
    };
  }

  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
    return this.#askAll((policy) => policy.check(request), joinAll);
  }

  explain(request: PolicyRequest): PolicyExplanation | Promise<PolicyExplanation> {
    return this.#askAll((policy) => policy.explain?.(request) ?? policy.check(request), explainAll);
  }

  mayAllow(tool: PolicySubject, principal: Principal | undefined): boolean {
    return this.#policies.every((policy) => policy.mayAllow?.(tool, principal) ?? true);
  }

  #askAll<Joined>(
    ask: (policy: RuntimePolicy) => unknown,
    join: (answers: readonly unknown[]) => Joined,
  ): Joined | Promise<Joined> {
    const answers: unknown[] = [];
    try {
      for (const policy of this.#policies) answers.push(ask(policy));
    } catch (error) {
      // The call is denied already. An unhandled rejection would end the process.
      for (const answer of answers) if (isThenable(answer)) adopt(answer).catch(() => {});
      throw error;
    }
    if (!answers.some(isThenable)) return join(answers);
    return Promise.all(answers.map(adopt)).then(join);
  }
}

function joinAll(answers: readonly unknown[]): PolicyDecision {
  return answers.map((answer) => checkDecision(answer as PolicyDecision)).reduce(joinDecisions);
}

function explainAll(answers: readonly unknown[]): PolicyExplanation {
  const explanations = answers.map((answer) => toExplanation(answer as PolicyExplanation | PolicyDecision));
  return joinExplanations(explanations.map(({ decision }) => decision).reduce(joinDecisions), explanations);
}

/** A policy that explains nothing has only its decision. */
function toExplanation(answer: PolicyExplanation | PolicyDecision): PolicyExplanation {
  if (typeof answer.decision === "string") {
    return { decision: checkDecision(answer as PolicyDecision), rules: [], ...NO_ORIGINS };
  }
  return { ...(answer as PolicyExplanation), decision: checkDecision(answer.decision) };
}

/**
 * Explains the decision to which those of several policies were joined.
 *
 * @param decision The strictest of their decisions.
 */
function joinExplanations(
  decision: PolicyDecision,
  explanations: readonly PolicyExplanation[],
): PolicyExplanation {
  const rules = explanations.flatMap((each) => each.rules);
  return { decision, rules, ...joinOrigins(decision, explanations) };
}

function joinOrigins(decision: PolicyDecision, explanations: readonly PolicyExplanation[]): GrantOrigins {
  if (decision.decision === "deny" || decision.grant === undefined) return NO_ORIGINS;
  const { sandbox, limits } = decision.grant;
  const limitOrigins = LIMIT_NAMES.flatMap((name) => {
    if (limits[name] === undefined) return [];
    const origin = explanations.find((each) => grantOf(each)?.limits[name] === limits[name]);
    return [[name, origin?.limits[name] ?? UNNAMED]];
  });
  const from = explanations.find((each) => grantOf(each)?.sandbox === sandbox);
  const capabilities = decision.grant.capabilities;
  const granted = CAPABILITY_NAMES.filter((name) => capabilities[name] !== undefined);
  const withheld = CAPABILITY_NAMES.filter(
    (name) => capabilities[name] === undefined && explanations.some((each) => mentions(each, name)),
  );
  return {
    sandbox: from?.sandbox ?? UNNAMED,
    limits: Object.fromEntries(limitOrigins),
    capabilities: Object.fromEntries(
      granted.map((name) => [name, distinct(explanations.flatMap((each) => granting(each, name)))]),
    ),
    withheld: Object.fromEntries(
      withheld.map((name) => [name, distinct(explanations.flatMap((each) => withholding(each, name)))]),
    ),
  };
}

function mentions({ capabilities, withheld }: GrantOrigins, name: CapabilityName): boolean {
  return capabilities[name] !== undefined || withheld[name] !== undefined;
}

/** The rules of a policy that grant a capability. */
function granting(explanation: PolicyExplanation, name: CapabilityName): readonly string[] {
  if (grantOf(explanation)?.capabilities[name] === undefined) return [];
  return explanation.capabilities[name] ?? [UNNAMED];
}

/** The rules of a policy because of which a call does not get a capability. */
function withholding(explanation: PolicyExplanation, name: CapabilityName): readonly string[] {
  if (grantOf(explanation)?.capabilities[name] !== undefined) return [];
  if (explanation.withheld[name] !== undefined) return explanation.withheld[name];
  return explanation.decision.rules ?? [UNNAMED];
}

function grantOf({ decision }: PolicyExplanation): ExecutionGrant | undefined {
  return decision.decision === "deny" ? undefined : decision.grant;
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

/** Returns the strictest of two checked decisions, with the grants and the rules of both. */
function joinDecisions(a: PolicyDecision, b: PolicyDecision): PolicyDecision {
  if (a === b) return a;
  let byOther = joined.get(a);
  if (byOther === undefined) {
    byOther = new WeakMap();
    joined.set(a, byOther);
  }
  let decision = byOther.get(b);
  if (decision === undefined) {
    decision = join(a, b);
    byOther.set(b, decision);
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
