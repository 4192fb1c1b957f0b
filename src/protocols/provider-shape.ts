import type { ToolResult } from "../engine/call/messages.ts";
import type { TurnCollector } from "./parsing/turn-collector.ts";
import type { EventReader } from "./streaming/call-stream.ts";
import type { OfferedTool } from "./strict/offer-tools.ts";
import type { StrictSubset } from "./strict/schema.ts";
import type { TurnCall } from "./turn.ts";

/** The provider-specific parts of a protocol. All names in it are aliases. */
export interface ProviderShape<Tools, Message> extends EventReader {
  /** The subset of its strict mode. Absent if it has no such mode. */
  readonly strict?: StrictSubset;
  /** Whether it accepts every name, so that aliases are not needed. Default: `false`. */
  readonly takesAnyName?: boolean;
  writeTools(tools: readonly OfferedTool[]): Tools;
  /**
   * Reads a whole message.
   *
   * @returns why it stopped; `undefined` if it does not say.
   * @throws {ProtocolError}
   */
  readMessage(message: unknown, turn: TurnCollector): string | undefined;
  /** Returns the assistant's turn. There is a text or a call. */
  writeTurn(calls: readonly TurnCall[], text: string): readonly Message[];
  /** Returns the results. There is at least one. */
  writeResults(results: readonly ToolResult[]): readonly Message[];
}
