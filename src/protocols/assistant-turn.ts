import type { ToolCall } from "../engine/call/call.ts";

/** What an assistant said and called in one message. */
export interface AssistantTurn {
  /** The text beside the calls; `""` when there is none. */
  readonly text: string;
  /** In order; the names are those of the registry. */
  readonly calls: readonly ToolCall[];
}
