import { performance } from "node:perf_hooks";
import type { OneShotThenable } from "../base/promises.ts";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import type { ExecutionGrant } from "../policy/policy.ts";
import type { Sandbox, SandboxOutcome } from "../sandboxes/contract/sandbox.ts";
import { type ReceivedCall, receiveCall, type ToolCall } from "./call/call.ts";
import type { DispatchContext } from "./call/context.ts";
import { type DispatchFailure, notFoundText } from "./call/errors.ts";
import { type ExecutionReceipt, NOTHING_RAN, sealExecution, type ToolExecution } from "./call/execution.ts";
import { type Caller, mayCall, narrowGrant, narrowLimits, toolCaller } from "./call/nested.ts";
import { cancelled, denial, failureOf, Refusal } from "./call/refusal.ts";
import { Reporter } from "./call/reporter.ts";
import { boundGrant, boundLimits } from "./call/upper-bound.ts";
import { chain } from "./maybe-promise.ts";
import type { RegisteredTool } from "./registry.ts";
import { readArguments } from "./steps/arguments.ts";
import { authorise, place } from "./steps/authorise.ts";
import { passGate, passStart } from "./steps/gate.ts";
import { readOutcome } from "./steps/outcome.ts";
import type { Placement } from "./steps/place.ts";

/** What became of the call where it ran, unless a hook aborted it. */
type Ran = SandboxOutcome | "aborted";

/** The way of one call, and what its steps have learnt so far. It lives as long as the call does. */
export class Pipeline {
  readonly #ctx: DispatchContext;
  /** The call whose tool makes this one; `undefined` for a call of the model. */
  readonly #caller: Caller | undefined;
  readonly #startedAt: number = performance.now();
  readonly #reporter: Reporter;
  readonly #call: ReceivedCall;
  /** As the model sent them, until they were validated. */
  #arguments: JsonValue;
  // What the steps find, each before the next one: in fields, since closures would cost as much as the steps.
  #registered!: RegisteredTool;
  #canonical!: CanonicalJson;
  /** What the policy granted, and what of it is left under the caller's. */
  #granted!: ExecutionGrant;
  #grant: ExecutionGrant | undefined;
  #sandbox!: Sandbox;
  #limits!: ResourceLimits;
  /** Whether the sandbox has the call. */
  #started = false;

  constructor(candidate: unknown, ctx: DispatchContext, caller?: Caller) {
    this.#caller = caller;
    this.#call = receiveCall(candidate);
    this.#arguments = this.#call.arguments;
    this.#ctx = ctx;
    this.#reporter = Reporter.of(this.#call, ctx);
  }

  /** Takes the call to its end; `null` when a hook aborts it. Never rejects. */
  run(): Promise<ToolExecution | null> {
    try {
      // Each step goes on with the next one at once, unless it must wait: a call pays for no more than that.
      const ran = this.#pass();
      if (ran === "aborted" || "status" in ran) return Promise.resolve(this.#conclude(ran));
      const conclude = (outcome: Ran): ToolExecution | null => this.#conclude(outcome);
      if (!(ran instanceof Promise)) return ran.then(conclude);
      return ran.then(conclude, (thrown: unknown) => this.#fail(thrown));
    } catch (thrown) {
      return Promise.resolve(this.#fail(thrown));
    }
  }

  #pass(): Ran | OneShotThenable<Ran> {
    this.#refuseIfCancelled();
    return chain(passGate(this.#call, this.#ctx), this, this.#admit);
  }

  #admit(verdict: "continue" | "abort"): Ran | OneShotThenable<Ran> {
    if (verdict === "abort") return "aborted";
    this.#registered = this.#lookUp();
    this.#arguments = readArguments(this.#arguments, this.#registered);
    this.#canonical = new CanonicalJson(this.#arguments);
    const decided = authorise(this.#call, this.#arguments, this.#canonical, this.#registered, this.#ctx);
    return chain(decided, this, this.#place);
  }

  #place(granted: ExecutionGrant): Ran | OneShotThenable<Ran> {
    const grant = this.#narrow(granted);
    this.#granted = granted;
    this.#grant = grant;
    return chain(place(this.#registered, grant, this.#ctx), this, this.#limit);
  }

  #limit({ grant, sandbox, limits }: Placement): Ran | OneShotThenable<Ran> {
    this.#sandbox = sandbox;
    this.#limits = this.#narrowLimits(limits, grant, sandbox);
    return chain(passStart(this.#call, this.#arguments, grant, this.#ctx), this, this.#runTask);
  }

  #refuseIfCancelled(): void {
    if (this.#ctx.signal?.aborted) throw cancelled();
  }

  /** Step 2: the tool of that name. */
  #lookUp(): RegisteredTool {
    const { registry } = this.#ctx;
    const { name, problem } = this.#call;
    if (problem !== undefined) throw new Refusal("validation_error", problem);
    const caller = this.#caller;
    // A tool learns nothing of tools that it may not call, not even their names.
    if (caller !== undefined && !mayCall(caller, name)) throw denial(name, "caller", "not in its grant");
    const registered = registry.find(name);
    if (registered !== undefined) return registered;
    const names = registry.names.filter((each) => caller === undefined || mayCall(caller, each));
    throw new Refusal("not_found", notFoundText(name, names));
  }

  /** What of a grant is left under the caller's; the upper bound is in the grant of every caller. */
  #narrow(granted: ExecutionGrant): ExecutionGrant {
    if (this.#caller !== undefined) return narrowGrant(granted, this.#caller);
    const { upperBound } = this.#ctx;
    return upperBound === undefined ? granted : boundGrant(granted, upperBound);
  }

  #narrowLimits(own: ResourceLimits, grant: ExecutionGrant, sandbox: Sandbox): ResourceLimits {
    if (this.#caller !== undefined) return narrowLimits(own, grant, this.#caller, sandbox, this.#registered);
    const { upperBound } = this.#ctx;
    return upperBound === undefined ? own : boundLimits(this.#granted, upperBound, sandbox);
  }

  /** Step 6: the sandbox of the grant. */
  #runTask(): SandboxOutcome | OneShotThenable<SandboxOutcome> {
    this.#refuseIfCancelled();
    this.#started = true;
    const { id: callId, name: toolName } = this.#call;
    const grant = this.#grant as ExecutionGrant;
    const canonical = this.#canonical;
    const limits = this.#limits;
    this.#reporter.started(grant, canonical);
    const { sessionId, signal, embedder } = this.#ctx;
    const { capabilities } = grant;
    const depth = this.#caller === undefined ? 0 : this.#caller.depth + 1;
    const callTool =
      capabilities.tools && toolCaller({ callId, depth, grant, limits }, this.#ctx, dispatchNested);
    const task = {
      callId,
      sessionId,
      toolName,
      implementations: this.#registered.tool,
      input: this.#arguments,
      canonical,
      limits,
      capabilities,
      signal,
      observer: this.#reporter,
      embedder,
      nesting: depth,
    };
    return this.#sandbox.run(callTool === undefined ? task : { ...task, callTool });
  }

  /** Never throws, whatever a sandbox answers. */
  #conclude(outcome: Ran): ToolExecution | null {
    try {
      if (outcome !== "aborted") return this.#finish(outcome);
      this.#reporter.aborted();
      return null;
    } catch (thrown) {
      return this.#fail(thrown);
    }
  }

  /** Step 7: the result of a call that its sandbox had. */
  #finish(outcome: SandboxOutcome): ToolExecution {
    const { sandbox } = this.#grant as ExecutionGrant;
    const { enforced: held = this.#limits } = outcome;
    // A call that did not start in its sandbox was held to nothing.
    const isHeld = outcome.status !== "unavailable" && outcome.status !== "refused";
    const enforced = isHeld ? held : NOTHING_RAN.enforced;
    const receipt = Object.freeze({ enforced, used: Object.freeze(outcome.used) });
    const { output, failure, metadata } = readOutcome(outcome, this.#call.name, sandbox, held);
    return this.#seal(receipt, output, failure, metadata, outcome.endedAt);
  }

  /** The result of a call that a step refused, or that broke a step. */
  #fail(thrown: unknown): ToolExecution {
    const receipt = this.#started
      ? Object.freeze({ enforced: this.#limits, used: NOTHING_RAN.used })
      : NOTHING_RAN;
    return this.#seal(receipt, null, failureOf(thrown, this.#started ? "unknown" : "none"), undefined);
  }

  #seal(
    receipt: ExecutionReceipt,
    output: ToolExecution["output"],
    failure: DispatchFailure | undefined,
    metadata: ToolExecution["metadata"],
    endedAt?: number,
  ): ToolExecution {
    const { id: callId, name: toolName } = this.#call;
    const sandbox = this.#grant?.sandbox ?? null;
    const result = { callId, toolName, arguments: this.#arguments, output, sandbox, receipt };
    const execution = sealExecution(result, this.#startedAt, failure, metadata, endedAt);
    this.#reporter.ended(execution, failure?.detail);
    return execution;
  }
}

function dispatchNested(call: ToolCall, ctx: DispatchContext, caller: Caller): Promise<ToolExecution | null> {
  return new Pipeline(call, ctx, caller).run();
}
