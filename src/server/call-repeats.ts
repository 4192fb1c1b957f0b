import { randomBytes } from "node:crypto";
import { FairBudget } from "../base/fair-budget.ts";
import type { DispatchContext } from "../engine/call/context.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import { ToolDispatchEngine } from "../engine/engine.ts";
import { notRepeatable, overloaded } from "../http/refusals.ts";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonValue } from "../json/value.ts";
import { checkDecision, type PolicyDecision } from "../policy/policy.ts";
import type { Principal } from "../policy/principal.ts";

/** Maximum number of calls that are repeated at once, and of one client. */
const MAX_REPEATS = 4;
const MAX_OWN_REPEATS = 1;
/** The session of repeated calls. */
const SESSION_ID = "console-repeat";
/** The side effects of tools that can be called again: they change nothing. */
const HARMLESS: readonly string[] = ["none", "read"];

/** A recorded call that is repeated. */
export interface RepeatedCall {
  readonly seq: number;
  readonly tool: string;
  readonly args: JsonValue;
}

/** The person who repeats a call. */
export interface Repeater {
  readonly name: string;
  readonly principal: Principal | undefined;
  /** Cancels the call. */
  readonly signal: AbortSignal;
}

/** Calls tools again, with the arguments of recorded calls, as they and the policy are now. */
export class CallRepeats {
  readonly #engine = new ToolDispatchEngine();
  readonly #context: Omit<DispatchContext, "sessionId">;
  readonly #open = new FairBudget(MAX_REPEATS, 1, MAX_OWN_REPEATS);

  /** @param context That of the server's calls, with its hooks, policy, sandboxes and journal. */
  constructor(context: Omit<DispatchContext, "sessionId">) {
    this.#context = context;
  }

  /**
   * Decides on the call, and runs nothing.
   *
   * @throws {RequestRefusal} 422 as a rejection, if the tool is gone or no longer accepts the arguments.
   */
  async decide(call: RepeatedCall, { principal }: Repeater): Promise<PolicyDecision> {
    const { registry, policy } = this.#context;
    const registered = registry.find(call.tool);
    if (registered === undefined) throw notRepeatable("the tool is not registered any more");
    const read = registry.validate(call.tool, call.args);
    if (!("input" in read)) throw notRepeatable("the tool does not accept the arguments any more");
    const request = {
      callId: idOf(call),
      sessionId: SESSION_ID,
      input: read.input,
      canonical: new CanonicalJson(read.input),
      tool: registered.subject,
      ...(principal && { principal }),
    };
    return checkDecision(await policy.check(Object.freeze(request)));
  }

  /**
   * Runs the call like any other, in the name of the client. No person is asked to confirm it: what a person must confirm is
   * denied.
   *
   * @throws {RequestRefusal} 422 or 429 as a rejection, if the tool can change something, or too many calls are repeated.
   */
  async run(call: RepeatedCall, { name, principal, signal }: Repeater): Promise<ToolExecution | null> {
    const registered = this.#context.registry.find(call.tool);
    if (registered === undefined) throw notRepeatable("the tool is not registered any more");
    if (!HARMLESS.includes(registered.subject.sideEffects))
      throw notRepeatable("the tool can change something: only calls of the classes none and read run again");
    if (!this.#open.acquire(name, 1)) throw overloaded("a call is being repeated: retry when it has ended");
    try {
      const { confirm: _, principal: __, ...context } = this.#context;
      const asking = principal === undefined ? {} : { principal };
      return await this.#engine.dispatch(
        { id: idOf(call), name: call.tool, arguments: JSON.stringify(call.args) },
        { ...context, ...asking, signal, sessionId: SESSION_ID },
      );
    } finally {
      this.#open.release(name, 1);
    }
  }
}

/** Says which record is repeated. */
function idOf({ seq }: RepeatedCall): string {
  return `repeat-${seq}-${randomBytes(4).toString("hex")}`;
}
