import type { ToolRegistry } from "../engine/registry.ts";
import type { PolicyDecision } from "../policy/decision.ts";
import type { PolicyRequest, RuntimePolicy } from "../policy/policy.ts";

/** The tools and the policy of sessions, which outlive a reload. */
export interface ToolsAndPolicy {
  readonly registry: ToolRegistry;
  readonly policy: RuntimePolicy;
}

/** A registry and a policy whose content can be replaced. */
export class ReloadableTools implements ToolsAndPolicy {
  readonly registry: ToolRegistry;
  readonly policy: RuntimePolicy;
  #policy: RuntimePolicy;

  constructor({ registry, policy }: ToolsAndPolicy) {
    this.registry = registry;
    this.#policy = policy;
    const current = (): RuntimePolicy => this.#policy;
    this.policy = {
      check: (request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> => current().check(request),
      get revision(): string | undefined {
        return current().revision;
      },
    };
  }

  replace({ registry, policy }: ToolsAndPolicy): void {
    for (const name of this.registry.names) if (!registry.has(name)) this.registry.unregister(name);
    for (const tool of registry.tools) this.registry.register(tool, { replace: true });
    this.#policy = policy;
  }
}
