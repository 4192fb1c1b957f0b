import type { ToolCall } from "../engine/call/call.ts";
import type { ToolResult } from "../engine/call/messages.ts";
import type { JsonObject } from "../json/value.ts";
import type { AssistantTurn } from "./assistant-turn.ts";
import type { Format } from "./format.ts";
import type { CallCollector } from "./parsing/call-collector.ts";
import type { OfferedTool } from "./strict/offer-tools.ts";
import type { StrictSubset } from "./strict/schema.ts";

/** What is particular to a provider: how it writes tools, calls and results. Names are aliases throughout. */
export interface ProviderShape<Tools, Message> {
  readonly format: Format;
  /** What its strict mode takes; absent where there is no such mode. */
  readonly strict?: StrictSubset;
  /** Whether it accepts every name, so that aliases are not needed. Default: `false`. */
  readonly takesAnyName?: boolean;
  writeTools(tools: readonly OfferedTool[]): Tools;
  /** @throws {ProtocolError} */
  readMessage(message: unknown): AssistantTurn;
  /** Reads one event of a stream. @throws {ProtocolError} */
  readEvent(event: JsonObject, calls: CallCollector): void;
  /** Writes the assistant's turn; there is at least one call. */
  writeTurn(calls: readonly ToolCall[], text: string): readonly Message[];
  /** Returns the results. There is at least one. */
  writeResults(results: readonly ToolResult[]): readonly Message[];
}
