import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/policy.ts";
import type { ToolCall } from "./call.ts";

/**
 * The embedder's say in each call. Hooks can only tighten: they see frozen data, and no answer of theirs
 * grants anything. A hook that throws, answers nonsense, or takes longer than the context's
 * `decisionTimeoutMs` denies the call.
 */
export interface AgentHooks {
  /**
   * Asked first, before lookup and parsing. `"abort"` ends the call without a result: nothing ran, and
   * `dispatch` gives `null`. `{ deny }` fails it with `permission_denied`.
   */
  onToolCall?(call: ToolCall): CallVerdict | Promise<CallVerdict>;
  /** Asked last, after the policy's grant and right before the sandbox. */
  onToolStart?(start: ToolStart): StartVerdict | Promise<StartVerdict>;
}

/** Nothing and `"continue"` let the call go on. A reason is for the operator, never for the model. */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that merely watches returns nothing
export type StartVerdict = void | undefined | "continue" | { readonly deny: string };

/** A {@link StartVerdict}, or the end of the call without a result. */
export type CallVerdict = StartVerdict | "abort";

/** A call that is about to run. Frozen. */
export interface ToolStart {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** The validated arguments, deeply frozen. */
  readonly input: JsonValue;
  readonly grant: ExecutionGrant;
}
