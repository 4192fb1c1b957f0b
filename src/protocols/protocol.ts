import type { ToolCall } from "../engine/call.ts";
import type { ToolExecution } from "../engine/execution.ts";
import type { CallStream } from "./call-stream.ts";

/**
 * One provider's side of a conversation about the tools of a registry: definitions out, calls in, results back.
 * A name that providers refuse goes out as an alias, and comes back as itself.
 */
export interface Protocol<Tools = unknown, Message = unknown> {
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

/** What an assistant said and called in one message. */
export interface AssistantTurn {
  /** The text beside the calls; `""` when there is none. */
  readonly text: string;
  /** In order; the names are those of the registry. */
  readonly calls: readonly ToolCall[];
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
  readonly problems: readonly StrictProblem[];
}

/** A reason why a tool's schema has no strict form. Its definition went out as it is, and not strict. */
export interface StrictProblem {
  readonly tool: string;
  /** The JSON pointer (RFC 6901) of the part in the tool's schema. */
  readonly path: string;
  readonly reason: string;
}

/** A message or a stream has not the shape of its format, or is larger than any honest one. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** The JSON pointer (RFC 6901) of what is wrong; `""` is the message or the event itself. */
  readonly pointer: string;
  /** Such as `must be a string`. It repeats nothing of the message. */
  readonly reason: string;
  /** The number of the stream's event, from 1; `undefined` outside of events. */
  readonly event: number | undefined;

  constructor(pointer: string, reason: string, event?: number) {
    const subject = pointer === "" ? (event === undefined ? "the message" : "it") : pointer;
    super(`${event === undefined ? "" : `event ${event}: `}${subject} ${reason}`);
    this.pointer = pointer;
    this.reason = reason;
    this.event = event;
  }
}
