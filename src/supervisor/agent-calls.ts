import { receiveCall, type ToolCall } from "../engine/call/call.ts";
import type { DispatchContext } from "../engine/call/context.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { ToolDispatchEngine } from "../engine/engine.ts";
import { denial, Refusal } from "../engine/failure/refusal.ts";
import { refuseCall } from "../engine/pipeline.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { CapabilityKernel } from "../policy/kernel/capability-kernel.ts";
import type { RuntimePolicy } from "../policy/policy.ts";
import { CountedPolicy } from "./access/counted-policy.ts";
import { checkDeclaredAccess } from "./access/declared-access.ts";
import { AgentJournal } from "./agent-journal.ts";
import { type Slug, slugOfFailure } from "./slugs.ts";
import type { Answer, WireCall } from "./wire/messages.ts";

/** What the calls of one agent are dispatched with. */
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
  /** The tools that a call which found none may read of. */
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
      journal: journal && new AgentJournal(journal, args, slug),
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
