import { adopt, isThenable } from "../base/promises.ts";
import { checkDecision, type PolicyDecision } from "./decision.ts";
import { joinDecisions } from "./join-decisions.ts";
import type { PolicyRequest, RuntimePolicy } from "./policy.ts";

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

  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
    const answers: unknown[] = [];
    try {
      for (const policy of this.#policies) answers.push(policy.check(request));
    } catch (error) {
      // The call is denied already. An unhandled rejection would end the process.
      for (const answer of answers) if (isThenable(answer)) adopt(answer).catch(() => {});
      throw error;
    }
    if (!answers.some(isThenable)) return joinAll(answers);
    return Promise.all(answers.map(adopt)).then(joinAll);
  }
}

function joinAll(answers: readonly unknown[]): PolicyDecision {
  return answers.map((answer) => checkDecision(answer as PolicyDecision)).reduce(joinDecisions);
}
