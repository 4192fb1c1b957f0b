import type { ToolCall } from "../engine/call.ts";
import type { ToolExecution } from "../engine/execution.ts";

/** A format in which an assistant message carries tool calls, and in which their results go back. */
export interface Protocol<Message = unknown> {
  /**
   * Reads the tool calls of a whole assistant message, in order. Text beside them is not looked at, and a
   * message without calls gives none. Arguments stay as they came: parsing them is the engine's part.
   *
   * @param message What `JSON.parse` made of the message.
   * @throws {ProtocolError} when the message has not the shape of this format.
   */
  readCalls(message: unknown): readonly ToolCall[];

  /**
   * Writes the messages that continue the conversation: the calls, and one result for each. A call that a hook
   * aborted (`null`) is left out of both.
   *
   * @throws {TypeError} when calls and executions do not belong together, one to one and in order.
   */
  toMessages(calls: readonly ToolCall[], executions: readonly (ToolExecution | null)[]): readonly Message[];
}

/** A message has not the shape of its format. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** The JSON pointer (RFC 6901) of what is wrong; `""` is the message itself. */
  readonly pointer: string;
  /** Such as `must be a string`. It repeats nothing of the message. */
  readonly reason: string;

  constructor(pointer: string, reason: string) {
    super(`${pointer === "" ? "the message" : pointer} ${reason}`);
    this.pointer = pointer;
    this.reason = reason;
  }
}
