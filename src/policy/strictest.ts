import { adopt, isThenable } from "../base/promises.ts";
import { checkDecision, type PolicyDecision } from "./decision.ts";
import { NO_ORIGINS, type PolicyExplanation } from "./explanation.ts";
import type { TrackedFields } from "./history/value-provenance.ts";
import { joinDecisions } from "./join-decisions.ts";
import { joinExplanations } from "./join-explanations.ts";
import type { PolicyRequest, PolicySubject, RuntimePolicy } from "./policy.ts";
import type { PolicyPlace } from "./policy-place.ts";
import type { Principal } from "./principal.ts";

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
    return {
      sources: all.flatMap(({ sources }) => sources),
      contents: all.flatMap(({ contents }) => contents),
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
