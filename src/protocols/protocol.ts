import type { ToolCall } from "../engine/call/call.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { AssistantTurn } from "./assistant-turn.ts";
import type { CallStream } from "./streaming/call-stream.ts";
import type { StrictSchemaProblem } from "./strict/offer-tools.ts";

/**
 * One provider's side of a conversation about the tools of a registry: definitions out, calls in, results back.
 * A name that providers refuse goes out as an alias, and comes back as itself.
 */
export interface ProviderProtocol<Tools = unknown, Message = unknown> {
  /** Writes what a model is told of the tools that are registered now, in order of registration. */
  toTools(options?: ToToolsOptions): ToolOffer<Tools>;

  /**
   * Reads a whole assistant message, or the whole response around it. Arguments stay as they came: parsing them
   * is the engine's part. A message without calls gives none.
   *
   * @param message What `JSON.parse`, or the provider's SDK, made of it.
   * @throws {ProtocolError} when the message has not the shape of this format.
   */
  read(message: unknown): AssistantTurn;

  /** Begins to read a message that arrives as a stream. */
  stream(): CallStream;

  /**
   * Writes the messages that continue the conversation: what the assistant said and called, and one result for
   * each call. A call that a hook aborted (`null`) is left out of both.
   *
   * @param turn What else of the assistant's turn to repeat.
   * @throws {TypeError} when calls and executions do not belong together, one to one and in order.
   */
  toMessages(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
    turn?: { readonly text?: string },
  ): readonly Message[];

  /**
   * Writes the results alone, for whoever sends back the provider's own message: it alone has what only the
   * provider can read, such as signed reasoning.
   *
   * @throws {TypeError} as {@link Protocol.toMessages} does.
   */
  toResults(calls: readonly ToolCall[], executions: readonly (ToolExecution | null)[]): readonly Message[];
}

/** How definitions are written. */
export interface ToToolsOptions {
  /**
   * Whether to ask the provider for arguments that fit the schema for sure. A schema outside the provider's
   * strict subset is rewritten, or offered as it is and reported. Default: `false`.
   */
  readonly strict?: boolean;
}

/** The definitions of tools in a provider's shape. */
export interface ToolOffer<Tools> {
  /** What the provider's request takes as `tools`. */
  readonly tools: Tools;
  /** Why tools are not offered as strict though that was asked for. Empty otherwise. */
  readonly problems: readonly StrictSchemaProblem[];
}
