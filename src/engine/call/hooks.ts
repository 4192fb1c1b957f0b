import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { Principal } from "../../policy/principal.ts";
import type { ToolCall } from "./call.ts";

/**
 * Callbacks that can deny or abort calls. They can only restrict: they receive frozen data, and nothing that they
 * return grants anything. A hook that throws, returns an invalid verdict or takes longer than the context's
 * `decisionTimeoutMs` denies the call.
 */
export interface AgentHooks {
  /**
   * Called first, before lookup and parsing. `"abort"` ends the call without a result: nothing runs, and `dispatch`
   * returns `null`; a suspended call that goes on fails like a denied one. `{ deny }` fails the call with `permission_denied`.
   */
  onToolCall?(call: ToolCall): CallVerdict | Promise<CallVerdict>;
  /** Called last, after the policy's grant and right before the sandbox. */
  onToolStart?(start: ToolStart): StartVerdict | Promise<StartVerdict>;
}

/** `undefined` and `"continue"` let the call go on. The reason of a denial is only for the operator. */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only observes returns nothing
export type StartVerdict = void | undefined | "continue" | { readonly deny: string };

/** A {@link StartVerdict}, or `"abort"` to end the call without a result. */
export type CallVerdict = StartVerdict | "abort";

/** A call that is about to run. Frozen. */
export interface ToolStart {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** Who calls; absent if the context does not say. */
  readonly principal?: Principal;
  /** The validated arguments, deeply frozen. */
  readonly input: JsonValue;
  readonly grant: ExecutionGrant;
}
