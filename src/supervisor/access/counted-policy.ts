import { adopt, isThenable } from "../../base/promises.ts";
import { Refusal } from "../../engine/failure/refusal.ts";
import type { PolicyDecision } from "../../policy/decision.ts";
import type { CapabilityKernel } from "../../policy/kernel/capability-kernel.ts";
import type { PolicyRequest, RuntimePolicy } from "../../policy/policy.ts";

/** The policy of one call and of those that its tool makes. Each is counted unless it is denied. */
export class CountedPolicy implements RuntimePolicy {
  readonly #kernel: CapabilityKernel;
  readonly #agent: string;
  readonly #policy: RuntimePolicy;
  /** The ids of calls that were counted: a policy is asked again when a person has confirmed a call. */
  readonly #counted = new Set<string>();

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

  #count(decision: PolicyDecision, { callId, tool }: PolicyRequest): PolicyDecision {
    if (decision.decision === "deny" || this.#counted.has(callId)) return decision;
    const full = this.#kernel.count(this.#agent, tool.name);
    if (full !== undefined)
      throw new Refusal("permission_denied", `Permission denied: ${full}`, { detail: full });
    this.#counted.add(callId);
    return decision;
  }
}
