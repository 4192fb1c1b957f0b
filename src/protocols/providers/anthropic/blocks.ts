import type { JsonObject } from "../../../json/value.ts";
import { expectObject, expectObjects, expectString, readId } from "../../parsing/shape.ts";
import type { RawCall, TurnCollector } from "../../parsing/turn-collector.ts";

/** Reads the content of a message. @throws {ProtocolError} */
export function readBlocks(value: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, block] of expectObjects(value, pointer).entries()) {
    turn.confirm();
    if (block["type"] === "text") turn.addText(block["text"]);
    if (readServerToolUse(block, turn)) continue;
    // The input of the last block may have been cut off, which a parsed value does not show.
    if (block["type"] === "tool_use") turn.add(readToolUse(block, `${pointer}/${index}`), false);
  }
}

/** Reads a block of type `tool_use`. @throws {ProtocolError} */
export function readToolUse({ id, name, input }: JsonObject, pointer: string): RawCall {
  return {
    id: readId(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(input ?? {}, `${pointer}/input`),
  };
}

/** Notes a call that the provider runs itself: `server_tool_use`, `mcp_tool_use`. Returns whether the block is one. */
export function readServerToolUse(block: JsonObject, turn: TurnCollector): boolean {
  const { type, id, name } = block;
  if (typeof type !== "string" || type === "tool_use" || !type.endsWith("tool_use")) return false;
  turn.addOther(type, block, id, name);
  return true;
}
