import type { ToolCall } from "../engine/call/call.ts";
import type { JsonObject } from "../json/value.ts";

/** One assistant message. */
export interface AssistantTurn {
  /** The text besides the calls; `""` if there is none. */
  readonly text: string;
  /** The calls in order, with the names of the registry. No call of a message that was cut off is incomplete. */
  readonly calls: readonly TurnCall[];
  /** The calls that are not the registry's: those that the provider runs itself, or that another program answers. */
  readonly other: readonly OtherCall[];
  /** Why the message stopped, in the provider's words, such as `tool_use`; `undefined` if it does not say. */
  readonly stopReason: string | undefined;
  /** Whether the provider cut off the message. Then all calls that are left have `cutOff`, too. */
  readonly cutOff: boolean;
  /**
   * What the provider wants back with the message, such as signed reasoning: `toMessages` sends it. It is JSON, to be
   * stored with the calls; its form is the protocol's own.
   */
  readonly providerData?: JsonObject;
}

/** A call of an assistant message. */
export interface TurnCall extends ToolCall {
  /** Set if the provider wrote the call as that of a custom tool: its arguments are a text, which is not JSON. */
  readonly custom?: true;
  /** What the provider wants back with the call, such as Gemini's `thoughtSignature`. */
  readonly providerData?: JsonObject;
}

/** A call that is not the registry's, such as `server_tool_use` or `mcp_approval_request`. */
export interface OtherCall {
  /** The provider's type. */
  readonly type: string;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** The part of the message as the provider sent it. In a stream, it may lack what arrives later. */
  readonly item: JsonObject;
}
