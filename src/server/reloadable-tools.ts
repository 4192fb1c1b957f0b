import type { ToolRegistry } from "../engine/registry.ts";
import type { TrackedFields } from "../policy/call-history.ts";
import {
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "../policy/policy.ts";
import type { Principal } from "../policy/principal.ts";

/** The tools and the policy of a server, which outlive a reload. */
export interface ToolsAndPolicy {
  readonly registry: ToolRegistry;
  readonly policy: RuntimePolicy;
}

/** A registry and a policy whose content can be replaced. While it is paused, the policy denies every call. */
export class ReloadableTools implements ToolsAndPolicy {
  readonly registry: ToolRegistry;
  readonly policy: RuntimePolicy;
  isPaused = false;
  #generation = 0;
  #policy: RuntimePolicy;

  constructor({ registry, policy }: ToolsAndPolicy) {
    this.registry = registry;
    this.#policy = policy;
    this.policy = new CurrentPolicy(
      () => this.#policy,
      () => this.isPaused,
    );
  }

  /** The policy, with a listener that is called before each decision, with the policy in force. */
  observedBy(onCheck: (request: PolicyRequest, policy: RuntimePolicy) => void): RuntimePolicy {
    return new CurrentPolicy(
      () => this.#policy,
      () => this.isPaused,
      onCheck,
    );
  }

  /** How often the tools were replaced. */
  get generation(): number {
    return this.#generation;
  }

  replace({ registry, policy }: ToolsAndPolicy): void {
    for (const name of this.registry.names) if (!registry.has(name)) this.registry.unregister(name);
    for (const tool of registry.tools) this.registry.register(tool, { replace: true });
    this.registry.pins = registry.pins;
    this.#policy = policy;
    this.#generation++;
  }

  replacePolicy(policy: RuntimePolicy): void {
    this.#policy = policy;
  }
}

const PAUSED = "the server is paused";

class CurrentPolicy implements RuntimePolicy {
  readonly #current: () => RuntimePolicy;
  readonly #isPaused: () => boolean;
  readonly #onCheck: (request: PolicyRequest, policy: RuntimePolicy) => void;

  constructor(
    current: () => RuntimePolicy,
    isPaused: () => boolean,
    onCheck: (request: PolicyRequest, policy: RuntimePolicy) => void = () => {},
  ) {
    this.#onCheck = onCheck;
    this.#current = current;
    this.#isPaused = isPaused;
  }

  check(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
    if (this.#isPaused()) return deny(PAUSED);
    const policy = this.#current();
    this.#onCheck(request, policy);
    const decision = policy.check(request);
    if (!(decision instanceof Promise)) return decision;
    // The server may have been paused meanwhile.
    return decision.then((decided) => (this.#isPaused() ? deny(PAUSED) : decided));
  }

  /** A paused server lists the tools that it has otherwise. */
  mayAllow(tool: PolicySubject, principal: Principal | undefined): boolean {
    return this.#current().mayAllow?.(tool, principal) ?? true;
  }

  /** None while the server is paused: no version of the policy decides then. */
  get revision(): string | undefined {
    return this.#isPaused() ? undefined : this.#current().revision;
  }

  get sources(): readonly string[] | undefined {
    return this.#current().sources;
  }

  get usesHistory(): boolean | undefined {
    return this.#current().usesHistory;
  }

  get trackedFields(): TrackedFields | undefined {
    return this.#current().trackedFields;
  }
}
