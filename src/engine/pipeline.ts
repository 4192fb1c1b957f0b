import { CanonicalJson } from "../json/canonical.ts";
import type { ExecutionGrant } from "../policy/policy.ts";
import type { Sandbox, SandboxOutcome } from "../sandboxes/sandbox.ts";
import { describeThrown } from "../sandboxes/thrown.ts";
import { authorise, effectiveLimits, route } from "./authorise.ts";
import { doubleEncodingHint, parseArguments, receiveCall, type ToolCall } from "./call.ts";
import type { DispatchContext } from "./context.ts";
import { type DispatchFailure, invalidArgumentsText, notFoundText, UNKNOWN_FAILURE_TEXT } from "./errors.ts";
import { createExecution, NOTHING_RAN, type Receipt, type ToolExecution } from "./execution.ts";
import { passGate, passStart } from "./gate.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { type Caller, mayCall, narrowGrant, narrowLimits, toolCaller } from "./nested.ts";
import { readOutcome } from "./outcome.ts";
import { cancelled, denial, Refusal } from "./refusal.ts";
import type { RegisteredTool } from "./registry.ts";
import { Reporter } from "./reporter.ts";

/** The way of one call, and what its steps have learnt so far. It lives as long as the call does. */
export class Pipeline {
  readonly #ctx: DispatchContext;
  /** The call whose tool makes this one; `undefined` for a call of the model. */
  readonly #caller: Caller | undefined;
  readonly #startedAt: number = performance.now();
  readonly #reporter: Reporter;
  /** What makes the call unfit to be looked up, as a text for the model. */
  readonly #problem: string | undefined;
  #call: ToolCall;
  #grant: ExecutionGrant | undefined;
  #receipt: Receipt = NOTHING_RAN;

  constructor(candidate: unknown, ctx: DispatchContext, caller?: Caller) {
    this.#caller = caller;
    const { call, problem } = receiveCall(candidate);
    this.#call = call;
    this.#problem = problem;
    this.#ctx = ctx;
    this.#reporter = new Reporter(call, ctx);
  }

  /** Takes the call to its end; `null` when a hook aborts it. Never rejects. */
  async run(): Promise<ToolExecution | null> {
    try {
      this.#refuseIfCancelled();
      // Each step may answer at once: a call that needs no waiting pays for none.
      const gate = passGate(this.#call, this.#ctx);
      if ((gate instanceof Promise ? await gate : gate) === "abort") {
        this.#reporter.end(() => ({ type: "tool.aborted" }));
        return null;
      }
      const registered = this.#lookUp();
      const canonical = this.#parse(registered);
      const decided = authorise(this.#call, canonical, registered, this.#ctx);
      const granted = decided instanceof Promise ? await decided : decided;
      const grant = this.#caller === undefined ? granted : narrowGrant(granted, this.#caller);
      this.#grant = grant;
      const routed = route(registered, grant, this.#ctx);
      const sandbox = routed instanceof Promise ? await routed : routed;
      const own = effectiveLimits(registered, grant, sandbox);
      const limits = this.#caller === undefined ? own : narrowLimits(own, this.#caller, sandbox, registered);
      const last = passStart(this.#call, grant, this.#ctx);
      if (last instanceof Promise) await last;
      this.#refuseIfCancelled();
      this.#receipt = Object.freeze({ enforced: limits, used: NOTHING_RAN.used });
      if (this.#reporter.listening) this.#reporter.emit({ type: "tool.started", grant, canonical });
      const ran = this.#runTask(registered, canonical, sandbox, grant);
      return this.#finish(ran instanceof Promise ? await ran : ran, grant);
    } catch (thrown) {
      return this.#fail(thrown);
    }
  }

  #refuseIfCancelled(): void {
    if (this.#ctx.signal?.aborted) throw cancelled();
  }

  /** Step 2: the tool of that name. */
  #lookUp(): RegisteredTool {
    if (this.#problem !== undefined) throw new Refusal("validation_error", this.#problem);
    const { registry } = this.#ctx;
    const { name } = this.#call;
    const caller = this.#caller;
    // A tool learns nothing of tools that it may not call, not even their names.
    if (caller !== undefined && !mayCall(caller, name)) throw denial(name, "caller", "not in its grant");
    const registered = registry.find(name);
    if (registered !== undefined) return registered;
    const names = registry.names.filter((each) => caller === undefined || mayCall(caller, each));
    throw new Refusal("not_found", notFoundText(name, names));
  }

  /** Step 3: arguments that the schema accepts. */
  #parse({ schema, rules }: RegisteredTool): CanonicalJson {
    const parsed = parseArguments(this.#call.arguments);
    if ("problem" in parsed) throw new Refusal("validation_error", parsed.problem);
    const accepted = schema.accept(parsed.value, rules);
    if ("problems" in accepted) {
      const hint = doubleEncodingHint(parsed.value);
      const problems = hint === undefined ? accepted.problems : [hint, ...accepted.problems];
      throw new Refusal("validation_error", invalidArgumentsText(problems));
    }
    this.#call = Object.freeze({ ...this.#call, arguments: accepted.value });
    return new CanonicalJson(accepted.value);
  }

  /** Step 6: the sandbox of the grant. */
  #runTask(
    { tool }: RegisteredTool,
    canonical: CanonicalJson,
    sandbox: Sandbox,
    grant: ExecutionGrant,
  ): MaybePromise<SandboxOutcome> {
    const { id: callId, name: toolName, arguments: input } = this.#call;
    const { sessionId, signal, embedder } = this.#ctx;
    const { capabilities } = grant;
    const limits = this.#receipt.enforced;
    const depth = this.#caller === undefined ? 0 : this.#caller.depth + 1;
    const callTool =
      capabilities.tools &&
      toolCaller({ callId, depth, grant, limits }, this.#ctx, (call, ctx, caller) =>
        new Pipeline(call, ctx, caller).run(),
      );
    return sandbox.run({
      callId,
      sessionId,
      toolName,
      implementations: tool,
      input,
      canonical,
      limits,
      capabilities,
      signal,
      observer: this.#reporter,
      embedder,
      ...(callTool !== undefined && { callTool }),
    });
  }

  /** Step 7: the result of a call that its sandbox had. */
  #finish(outcome: SandboxOutcome, { sandbox }: ExecutionGrant): ToolExecution {
    const { enforced } = this.#receipt;
    // A call that did not start in its sandbox was held to nothing.
    const limits = outcome.status === "unavailable" ? NOTHING_RAN.enforced : enforced;
    this.#receipt = Object.freeze({ enforced: limits, used: Object.freeze(outcome.used) });
    const { output, failure, metadata } = readOutcome(outcome, this.#call.name, sandbox, enforced);
    return this.#seal(output, failure, metadata);
  }

  /** The result of a call that a step refused, or that broke a step. */
  #fail(thrown: unknown): ToolExecution {
    if (Refusal.is(thrown)) return this.#seal(null, thrown.failure, undefined);
    const started = this.#receipt !== NOTHING_RAN;
    return this.#seal(
      null,
      {
        code: "execution_error",
        message: UNKNOWN_FAILURE_TEXT,
        effect: started ? "unknown" : "none",
        detail: describeThrown(thrown).detail,
      },
      undefined,
    );
  }

  #seal(
    output: ToolExecution["output"],
    failure: DispatchFailure | undefined,
    metadata: ToolExecution["metadata"],
  ): ToolExecution {
    const { id: callId, name: toolName, arguments: args } = this.#call;
    const sandbox = this.#grant?.sandbox ?? null;
    const result = { callId, toolName, arguments: args, output, sandbox, receipt: this.#receipt };
    const execution = createExecution(result, this.#startedAt, failure, metadata);
    this.#reporter.end(() => {
      if (failure === undefined) return { type: "tool.completed", execution };
      const { detail } = failure;
      return { type: "tool.failed", execution, ...(detail !== undefined && { detail }) };
    });
    return execution;
  }
}
