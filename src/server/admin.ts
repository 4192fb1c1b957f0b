import { ConfigError, type ConfigProblem } from "../config/problem.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { unavailable } from "../http/refusals.ts";
import type { TrackedFields } from "../policy/call-history.ts";
import { loadPolicyText } from "../policy/file/load.ts";
import type { LoadedPolicy } from "../policy/file/read.ts";
import {
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "../policy/policy.ts";
import type { Principal } from "../policy/principal.ts";
import type { RulePolicy } from "../policy/rule/rule-policy.ts";

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

export type AdminAction = "paused" | "resumed" | "policy-replaced";

/** An admin's action, for the operator's log. */
export interface AdminEvent {
  readonly action: AdminAction;
  /** Absent on a server without credentials. */
  readonly principal?: Principal;
  /** With `policy-replaced`. */
  readonly policyRevision?: string;
}

/** Options of a server's admin functions. */
export interface AdminOptions {
  /**
   * The file to which directories in a policy of `PUT /v1/policy` are relative, as if it contained that
   * policy. Default: `policy.yaml` in the working directory.
   */
  readonly policyFile?: string;
  /**
   * Called with a policy of `PUT /v1/policy` before it is used, for example to store it beside a journal. If it rejects, the
   * policy is not used. Default: not called.
   */
  readonly beforePolicy?: (policy: RuntimePolicy, registry: ToolRegistry) => Promise<void>;
  /** Called with each action of an admin. Errors that it throws are ignored. Default: not called. */
  readonly onAdmin?: (event: AdminEvent) => void;
}

/** The outcome of replacing the policy: `revision` is absent if it has errors, and nothing changed. */
export interface PolicyReplacement {
  readonly revision?: string;
  /** The first 100 errors, or warnings if there are no errors. */
  readonly problems: readonly Omit<ConfigProblem, "file">[];
}

/** The name of a policy of `PUT /v1/policy`. */
const DEFAULT_FILE = "policy.yaml";
/** Maximum number of problems in a response. */
const MAX_PROBLEMS = 100;

/** Pauses the server and replaces its policy, for admins. */
export class Admin {
  readonly #tools: ReloadableTools;
  readonly #options: AdminOptions;

  constructor(tools: ReloadableTools, options: AdminOptions) {
    this.#tools = tools;
    this.#options = options;
  }

  /** Whether new calls are refused. */
  get isPaused(): boolean {
    return this.#tools.isPaused;
  }

  setPaused(isPaused: boolean, by: { readonly principal: Principal | undefined }): void {
    if (this.#tools.isPaused === isPaused) return;
    this.#tools.isPaused = isPaused;
    this.#notify({ action: isPaused ? "paused" : "resumed" }, by);
  }

  /** See `RuntimePolicy.sources`. Empty if the policy is in code. */
  get sources(): readonly string[] {
    return this.#tools.policy.sources ?? [];
  }

  /**
   * Parses a policy in YAML and checks it against the registered tools, without replacing the current policy.
   */
  async readPolicy(
    text: string,
  ): Promise<
    { readonly policy: RulePolicy } | { readonly problems: readonly Omit<ConfigProblem, "file">[] }
  > {
    const { policyFile = DEFAULT_FILE } = this.#options;
    try {
      return await loadPolicyText(text, policyFile, this.#tools.registry.subjects);
    } catch (error) {
      if (error instanceof ConfigError) return { problems: shown(error.problems) };
      throw error;
    }
  }

  /**
   * Replaces the policy with one in YAML, after checking all of it against the registered tools.
   *
   * @param signal Aborted when the admin loses the permission: then nothing is replaced.
   * @throws {RequestRefusal} 503, as a rejection, if `beforePolicy` rejects. Also rejects with the reason of
   *   the signal.
   */
  async replacePolicy(
    text: string,
    by: { readonly principal: Principal | undefined },
    signal?: AbortSignal,
  ): Promise<PolicyReplacement> {
    const { policyFile = DEFAULT_FILE, beforePolicy } = this.#options;
    const { registry } = this.#tools;
    try {
      let generation: number;
      let loaded: LoadedPolicy;
      do {
        generation = this.#tools.generation;
        loaded = await loadPolicyText(text, policyFile, registry.subjects);
        await beforePolicy?.(loaded.policy, registry).catch((error: unknown) => {
          throw unavailable("the policy could not be stored, so it was not replaced: retry later", error);
        });
        // A reload may have added tools that violate the policy's invariants.
      } while (this.#tools.generation !== generation);
      signal?.throwIfAborted();
      const { policy, warnings } = loaded;
      this.#tools.replacePolicy(policy);
      const { revision } = policy;
      this.#notify({ action: "policy-replaced", policyRevision: revision }, by);
      return { revision, problems: shown(warnings) };
    } catch (error) {
      if (error instanceof ConfigError) return { problems: shown(error.problems) };
      throw error;
    }
  }

  #notify(event: AdminEvent, { principal }: { readonly principal: Principal | undefined }): void {
    try {
      this.#options.onAdmin?.({ ...event, ...(principal && { principal }) });
    } catch {
      // An error of a listener must not affect the response.
    }
  }
}

/** The first problems, without the paths of the server's files. */
function shown(problems: readonly ConfigProblem[]): readonly Omit<ConfigProblem, "file">[] {
  return problems.slice(0, MAX_PROBLEMS).map(({ file: _, ...problem }) => problem);
}
