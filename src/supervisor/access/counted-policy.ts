import { adopt, isThenable } from "../../base/promises.ts";
import { Refusal } from "../../engine/failure/refusal.ts";
import type { PolicyDecision } from "../../policy/decision.ts";
import type { CapabilityKernel } from "../../policy/kernel/capability-kernel.ts";
import type { PolicyRequest, RuntimePolicy } from "../../policy/policy.ts";

/** The policy of one call, which is counted unless it is denied. */
export class CountedPolicy implements RuntimePolicy {
  readonly #kernel: CapabilityKernel;
  readonly #agent: string;
  readonly #policy: RuntimePolicy;
  /** A policy is asked again when a person has confirmed a call. */
  #isCounted = false;

  constructor(kernel: CapabilityKernel, agent: string, policy: RuntimePolicy) {
    this.#kernel = kernel;
    this.#agent = agent;
    this.#policy = policy;
  }

  get revision(): string | undefined {
    return this.#policy.revision;
  }

  /** @throws {Refusal} if a quota of the agent is used up, also as a rejection. */
  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
    const decision: unknown = this.#policy.check(request);
    const count = (answer: unknown): PolicyDecision => this.#count(answer as PolicyDecision, request);
    return isThenable(decision) ? adopt(decision).then(count) : count(decision);
  }

  #count(decision: PolicyDecision, { tool }: PolicyRequest): PolicyDecision {
    if (decision.decision === "deny" || this.#isCounted) return decision;
    const full = this.#kernel.count(this.#agent, tool.name);
    if (full !== undefined)
      throw new Refusal("permission_denied", `Permission denied: ${full}`, { detail: full });
    this.#isCounted = true;
    return decision;
  }
}
