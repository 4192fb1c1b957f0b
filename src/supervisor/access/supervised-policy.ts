import { adopt, isThenable } from "../../base/promises.ts";
import type { CapabilityKernel } from "../../policy/capability-kernel.ts";
import { allow, ask, checkDecision, type PolicyDecision } from "../../policy/decision.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { commonFsGrants } from "../../policy/grant/fs-grant.ts";
import { commonNetGrants } from "../../policy/grant/net-grant.ts";
import type { PolicyRequest, RuntimePolicy } from "../../policy/policy.ts";
import { kernelPolicy } from "./kernel-policy.ts";

/**
 * The policy of supervised calls: the kernel's, and that of the embedder within it. The kernel narrows the files and origins of
 * a grant. Environment variables, clocks and other capabilities that no agent has are up to the embedder's policy alone.
 */
export class SupervisedPolicy implements RuntimePolicy {
  readonly #own: RuntimePolicy;
  readonly #embedders: RuntimePolicy | undefined;

  /** @param embedders Default: the kernel decides alone. */
  constructor(kernel: CapabilityKernel, embedders: RuntimePolicy | undefined) {
    this.#own = kernelPolicy(kernel);
    this.#embedders = embedders;
  }

  get revision(): string | undefined {
    return this.#embedders?.revision;
  }

  get sources(): readonly string[] | undefined {
    // The capabilities of an agent are not part of them.
    return [];
  }

  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
    const held = this.#own.check(request) as PolicyDecision;
    if (held.decision !== "allow" || this.#embedders === undefined) return held;
    const given: unknown = this.#embedders.check(request);
    const join = (answer: unknown): PolicyDecision =>
      narrow(checkDecision(answer as PolicyDecision), held.grant);
    return isThenable(given) ? adopt(given).then(join) : join(given);
  }
}

function narrow(decision: PolicyDecision, held: ExecutionGrant): PolicyDecision {
  if (decision.decision === "deny" || decision.grant === undefined) return decision;
  const { grant, sandboxes, rules } = decision;
  const { fs, net, ...others } = grant.capabilities;
  const common = {
    fs: commonFsGrants(fs ?? [], held.capabilities.fs ?? []),
    net: commonNetGrants(net ?? [], held.capabilities.net ?? []),
  };
  const narrowed = { ...grant, capabilities: { ...others, ...common } };
  const options = { ...(sandboxes && { sandboxes: [...sandboxes] }), ...(rules && { rules }) };
  if (decision.decision === "allow") return allow(narrowed, options);
  return ask(decision.question, {
    ...options,
    grant: narrowed,
    ...(decision.remember && { remember: "session" }),
  });
}
