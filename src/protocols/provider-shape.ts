import type { ToolCall } from "../engine/call/call.ts";
import type { ToolResult } from "../engine/call/messages.ts";
import type { AssistantTurn } from "./protocol.ts";
import type { EventReader } from "./streaming/call-stream.ts";
import type { OfferedTool } from "./strict/offer-tools.ts";
import type { StrictSubset } from "./strict/schema.ts";

/** The provider-specific parts of a protocol. All names in it are aliases. */
export interface ProviderShape<Tools, Message> extends EventReader {
  /** The subset of its strict mode. Absent if it has no such mode. */
  readonly strict?: StrictSubset;
  /** Whether it accepts every name, so that aliases are not needed. Default: `false`. */
  readonly takesAnyName?: boolean;
  writeTools(tools: readonly OfferedTool[]): Tools;
  /** @throws {ProtocolError} */
  readMessage(message: unknown): AssistantTurn;
  /** Returns the assistant's turn. There is at least one call. */
  writeTurn(calls: readonly ToolCall[], text: string): readonly Message[];
  /** Returns the results. There is at least one. */
  writeResults(results: readonly ToolResult[]): readonly Message[];
}
