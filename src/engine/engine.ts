import { type OptionNames, refuseUnknown } from "../base/options.ts";
import { receiveCall, type ToolCall } from "./call/call.ts";
import { checkContext, type DispatchContext } from "./call/context.ts";
import type { ToolExecution } from "./call/execution.ts";
import { type AssistantMessage, buildToolResultMessages, type ToolMessage } from "./call/messages.ts";
import { checkConcurrency, type DispatchAllOptions, dispatchEach, receiveCalls } from "./dispatch-all.ts";
import { type DispatchableTurn, type DispatchTurnOptions, dispatchCalls } from "./dispatch-turn.ts";
import { dispatchCall } from "./pipeline.ts";

const ALL_NAMES: OptionNames<DispatchAllOptions> = { concurrency: true };
const TURN_NAMES: OptionNames<DispatchTurnOptions> = { concurrency: true, cutOff: true };

/**
 * Dispatches tool calls. It keeps no state between calls, since everything comes with the context: one engine can
 * serve any number of conversations at once.
 */
export class ToolDispatchEngine {
  /**
   * Takes one call through hooks, lookup, parsing, policy and sandbox.
   *
   * @returns The result of the call, or `null` if `hooks.onToolCall` aborted it. An invalid call, and any error of the
   *   tool, a hook, a listener or the policy, gives an execution with an `error`; the promise does not reject for it.
   * @throws {TypeError} synchronously, if the context is a mistake of the program: it lacks `registry`, `policy`, `sandboxes`
   *   or `sessionId`, or its `decisionTimeoutMs`, `resultBudget` or `timeouts` is not valid. The other methods reject then.
   */
  dispatch<Embedder = unknown>(
    call: ToolCall,
    ctx: DispatchContext<Embedder>,
  ): Promise<ToolExecution | null> {
    return dispatchCall(receiveCall(call), checkContext(ctx as DispatchContext));
  }

  /**
   * Dispatches calls in order, and returns one result for each call, in the same order. Calls of tools that change
   * nothing run at the same time if they follow each other; every other call runs alone.
   *
   * @throws {TypeError} if `calls` is not iterable, or `concurrency` or the context is invalid. Invalid calls in the
   *   list have a result like any other call.
   */
  async dispatchAll<Embedder = unknown>(
    calls: readonly ToolCall[],
    ctx: DispatchContext<Embedder>,
    options: DispatchAllOptions = {},
  ): Promise<(ToolExecution | null)[]> {
    const context = checkContext(ctx as DispatchContext);
    refuseUnknown(options, ALL_NAMES, "dispatchAll");
    const { concurrency } = options;
    checkConcurrency(concurrency);
    // A copy: calls that are added to the list meanwhile are not dispatched.
    return dispatchEach(receiveCalls([...calls]), context, concurrency);
  }

  /**
   * Dispatches the calls of one assistant message like {@link dispatchAll}, but does not run calls with `cutOff`: the
   * model had not finished the message, so it may not have meant them to run alone. Such a call fails with `cancelled`
   * and the effect `none`.
   *
   * @returns One result for each call, in the same order.
   * @throws {TypeError} if `turn.calls` is not iterable, or `concurrency` or the context is invalid.
   */
  async dispatchTurn<Embedder = unknown>(
    turn: DispatchableTurn,
    ctx: DispatchContext<Embedder>,
    options: DispatchTurnOptions = {},
  ): Promise<(ToolExecution | null)[]> {
    const context = checkContext(ctx as DispatchContext);
    refuseUnknown(options, TURN_NAMES, "dispatchTurn");
    checkConcurrency(options.concurrency);
    return dispatchCalls(turn, context, options);
  }

  /** Builds the two messages that continue the conversation: see {@link buildToolResultMessages}. */
  buildToolResultMessages(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
    turn?: { readonly text?: string },
  ): [AssistantMessage, ToolMessage] {
    return buildToolResultMessages(calls, executions, turn);
  }
}
