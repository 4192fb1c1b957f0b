import { adopt, isThenable } from "../base/promises.ts";
import type { DispatchContext } from "../engine/call/context.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { CallJournal } from "../engine/call/journal.ts";
import { receiveCall, type ToolCall } from "../engine/call.ts";
import { refuseCall, type ToolDispatchEngine } from "../engine/engine.ts";
import { denial, Refusal } from "../engine/refusal.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { Recorder, type RecordSink } from "../engine/steps/record.ts";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import type { CapabilityKernel } from "../policy/capability-kernel.ts";
import type { PolicyDecision, PolicyRequest, RuntimePolicy } from "../policy/policy.ts";
import { checkDeclaredAccess } from "./access/declared-access.ts";
import { type Answer, type Slug, slugOf, slugOfFailure, type WireCall } from "./messages.ts";

/** A supervised call, for its records and those of the calls that its tool makes. */
interface SupervisedCall {
  readonly journal: CallJournal;
  /** As the agent wrote them. */
  readonly args: JsonValue;
  /** Default: that of the code. */
  readonly slug: Slug | undefined;
}

/** Writes a denial with the slug that the agent reads, and that of its own call with the arguments. */
const chain: RecordSink<SupervisedCall> = {
  begin: ({ journal }, record) => journal.begin(record),
  end: ({ journal }, record) => journal.end(record),
  deny({ journal, args, slug }, record) {
    const { code, parent, canonical = new CanonicalJson(args) } = record;
    if (parent !== undefined) return journal.deny({ ...record, slug: slugOf(code) });
    return journal.deny({ ...record, canonical, slug: slug ?? slugOf(code) });
  },
};

/** The policy of one call and of those that its tool makes. Each is counted unless it is denied. */
class CountedPolicy implements RuntimePolicy {
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

/** The context in which the calls of one agent are dispatched. */
export interface AgentCallsOptions {
  readonly agent: string;
  readonly kernel: CapabilityKernel;
  readonly engine: ToolDispatchEngine;
  readonly policy: RuntimePolicy;
  /** Everything else of the calls' context. */
  readonly context: DispatchContext;
}

interface Admission {
  readonly refusal: Refusal;
  /** Default: that of the refusal's code. */
  readonly slug?: Slug;
}

/** Takes the calls of one agent through the kernel and the engine. */
export class AgentCalls {
  readonly #options: AgentCallsOptions;
  /** The tools that the error of a call of an unknown tool may name. */
  readonly #visible: ToolRegistry;
  #running = 0;
  /** Resolves when no call is running; `undefined` if nothing waits for that. */
  #settled: PromiseWithResolvers<void> | undefined;

  constructor(options: AgentCallsOptions) {
    this.#options = options;
    const { agent, kernel, context } = options;
    this.#visible = context.registry.view(
      ({ name, requiresCapability }) => requiresCapability === false || kernel.checkTool(agent, name),
    );
  }

  /** Runs a call. Never rejects. */
  async call({ id, tool, args }: WireCall): Promise<Answer> {
    this.#running++;
    try {
      const call: ToolCall = { id, name: tool, arguments: args };
      const admission = this.#admit(call);
      const ctx = this.#contextOf(call, admission?.slug);
      const execution =
        admission === undefined
          ? await this.#options.engine.dispatch(call, ctx)
          : refuseCall(receiveCall(call), ctx, admission.refusal);
      return answerOf(execution, admission?.slug);
    } finally {
      if (--this.#running === 0) this.#settled?.resolve();
    }
  }

  /** Resolves when no call is running. No further calls may come. */
  async settled(): Promise<void> {
    if (this.#running === 0) return;
    this.#settled ??= Promise.withResolvers();
    await this.#settled.promise;
  }

  #contextOf({ name, arguments: args }: ToolCall, slug: Slug | undefined): DispatchContext {
    const { agent, kernel, policy, context } = this.#options;
    const { journal, registry } = context;
    return {
      ...context,
      // A call that finds no tool reads the names of those that it may call.
      registry: registry.has(name) ? registry : this.#visible,
      journal: journal && new Recorder([chain], { journal, args, slug }, journal.awaitsEvery === true),
      policy: new CountedPolicy(kernel, agent, policy),
    } as DispatchContext;
  }

  /**
   * Checks what the kernel says of a call, in this order: the tool, its paths, its URLs. The arguments are not validated yet.
   *
   * @returns `undefined` if nothing speaks against the call, or there is no such tool, which the engine refuses.
   */
  #admit({ name, arguments: args }: ToolCall): Admission | undefined {
    const { agent, kernel, context } = this.#options;
    const subject = context.registry.find(name)?.subject;
    if (subject === undefined) return undefined;
    const { access = {} } = subject;
    if (access.requiresCapability !== false && !kernel.checkTool(agent, name))
      return { refusal: denial(name, "policy", "the agent has no capability for the tool") };
    const checked = checkDeclaredAccess(kernel, agent, access, args);
    if (!("slug" in checked)) return undefined;
    const { slug, message, reason } = checked;
    const code = slug === "invalid_args" ? "validation_error" : "permission_denied";
    return { refusal: new Refusal(code, message, { detail: reason }), slug };
  }
}

function answerOf(execution: ToolExecution | null, slug: Slug | undefined): Answer {
  if (execution === null)
    return { ok: false, error: "permission_denied", message: "Tool call was withdrawn" };
  const { success, output, error, durationMs } = execution;
  if (success) return { ok: true, result: output, durationMs };
  return { ok: false, error: slug ?? slugOfFailure(execution), message: error?.message ?? "The tool failed" };
}
