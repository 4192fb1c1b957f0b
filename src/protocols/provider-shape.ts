import type { ToolResult } from "../engine/call/messages.ts";
import type { TurnCollector } from "./parsing/turn-collector.ts";
import type { EventReader } from "./streaming/call-stream.ts";
import type { OfferedTool } from "./strict/offer-tools.ts";
import type { StrictSubset } from "./strict/schema.ts";
import type { WrittenTurn } from "./written-turn.ts";

/** The provider-specific parts of a protocol. All names in it are aliases. */
export interface ProviderShape<Tools, Message> extends EventReader {
  /** The subset of its strict mode. Absent if it has no such mode. */
  readonly strict?: StrictSubset;
  /** Whether it accepts every name, so that aliases are not needed. Default: `false`. */
  readonly takesAnyName?: boolean;
  /**
   * Whether a call can have a text that is not JSON. Otherwise free-form tools are offered with an object schema, and
   * their calls have an object. Default: `false`.
   */
  readonly takesText?: boolean;
  /** Writes definitions. Those of free-form tools are marked only if the shape takes texts. */
  writeTools(tools: readonly OfferedTool[]): Tools;
  /**
   * Reads a whole message.
   *
   * @returns why it stopped; `undefined` if it does not say.
   * @throws {ProtocolError}
   */
  readMessage(message: unknown, turn: TurnCollector): string | undefined;
  /** Returns the assistant's turn. */
  writeTurn(turn: WrittenTurn): readonly Message[];
  /**
   * Returns the results. There is at least one.
   *
   * @param custom The ids of calls of custom tools.
   */
  writeResults(results: readonly ToolResult[], custom: ReadonlySet<string>): readonly Message[];
}
