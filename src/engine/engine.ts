import type { ToolCall } from "./call/call.ts";
import type { DispatchContext } from "./call/context.ts";
import type { ToolExecution } from "./call/execution.ts";
import { type AssistantMessage, buildToolResultMessages, type ToolMessage } from "./call/messages.ts";
import { Pipeline } from "./pipeline.ts";

/**
 * Dispatches tool calls. It keeps nothing between calls: everything comes with the context, so that one
 * engine serves any number of conversations at once.
 */
export class ToolDispatchEngine {
  /**
   * Takes one call through hook gate, lookup, parsing, policy and sandbox.
   *
   * @returns what became of it, or `null` when `hooks.onToolCall` aborted it. It never rejects, whatever the
   *   call, the tool, a hook, a listener or the policy does: a failure is an execution with an `error`.
   */
  dispatch(call: ToolCall, ctx: DispatchContext): Promise<ToolExecution | null> {
    return new Pipeline(call, ctx).run();
  }

  /**
   * Dispatches calls one after the other; the results are one to one and in order.
   *
   * @throws {TypeError} when `calls` is no list; whatever is in the list has its result.
   */
  async dispatchAll(calls: readonly ToolCall[], ctx: DispatchContext): Promise<(ToolExecution | null)[]> {
    const executions: (ToolExecution | null)[] = [];
    // A copy: a call that adds to the list is not followed.
    for (const call of [...calls]) executions.push(await this.dispatch(call, ctx));
    return executions;
  }

  /** The pair of messages that continues the conversation: see {@link buildToolResultMessages}. */
  buildToolResultMessages(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
  ): [AssistantMessage, ToolMessage] {
    return buildToolResultMessages(calls, executions);
  }
}
