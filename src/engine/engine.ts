import type { ToolCall } from "./call/call.ts";
import type { DispatchContext } from "./call/context.ts";
import type { ToolExecution } from "./call/execution.ts";
import { type AssistantMessage, buildToolResultMessages, type ToolMessage } from "./call/messages.ts";
import { dispatchCall } from "./pipeline.ts";

/**
 * Dispatches tool calls. It keeps no state between calls, since everything comes with the context: one engine can
 * serve any number of conversations at once.
 */
export class ToolDispatchEngine {
  /**
   * Takes one call through hooks, lookup, parsing, policy and sandbox.
   *
   * @returns The result of the call, or `null` if `hooks.onToolCall` aborted it. Never rejects: an invalid call, and
   *   any error of the tool, a hook, a listener or the policy, gives an execution with an `error`.
   */
  dispatch<Embedder = unknown>(
    call: ToolCall,
    ctx: DispatchContext<Embedder>,
  ): Promise<ToolExecution | null> {
    return dispatchCall(call, ctx as DispatchContext);
  }

  /**
   * Dispatches calls one after the other. Returns one result for each call, in the same order.
   *
   * @throws {TypeError} if `calls` is not iterable. Invalid calls in it have a result like any other call.
   */
  async dispatchAll<Embedder = unknown>(
    calls: readonly ToolCall[],
    ctx: DispatchContext<Embedder>,
  ): Promise<(ToolExecution | null)[]> {
    const executions: (ToolExecution | null)[] = [];
    // A copy: calls that are added to the list meanwhile are not dispatched.
    for (const call of [...calls]) executions.push(await this.dispatch(call, ctx));
    return executions;
  }

  /** Builds the two messages that continue the conversation: see {@link buildToolResultMessages}. */
  buildToolResultMessages(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
  ): [AssistantMessage, ToolMessage] {
    return buildToolResultMessages(calls, executions);
  }
}
