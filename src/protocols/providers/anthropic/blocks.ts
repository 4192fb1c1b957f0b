import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { RawCall } from "../../parsing/call-assembly.ts";
import { expectObject, expectObjects, expectString, readId } from "../../parsing/shape.ts";
import type { TurnCollector } from "../../parsing/turn-collector.ts";

/**
 * Returns whether a block is sent back as it is: signed reasoning, and what the provider's own tools did. The provider
 * rejects a message of its own whose reasoning is missing or changed.
 */
export function isOpaqueBlock({ type }: JsonObject): boolean {
  return type !== "text" && type !== "tool_use";
}

/** Reads the content of a message. @throws {ProtocolError} */
export function readBlocks(value: unknown, pointer: string, turn: TurnCollector): void {
  for (const [index, block] of expectObjects(value, pointer).entries()) {
    turn.confirm();
    expectString(block["type"], `${pointer}/${index}/type`);
    if (block["type"] === "text") turn.addText(block["text"]);
    if (isOpaqueBlock(block)) turn.opaque.add(block);
    if (readServerToolUse(block, turn)) continue;
    // The input of the last block may have been cut off, which a parsed value does not show.
    if (block["type"] === "tool_use") turn.add(readToolUse(block, `${pointer}/${index}`), false);
  }
}

/** Reads a block of type `tool_use`. @throws {ProtocolError} */
export function readToolUse({ id, name, input, caller }: JsonObject, pointer: string): RawCall {
  return {
    id: readId(id, `${pointer}/id`),
    name: expectString(name, `${pointer}/name`),
    arguments: expectObject(input ?? {}, `${pointer}/input`),
    // Which code of the model made the call, if code did.
    ...(isJsonObject(caller) && { providerData: { caller } }),
  };
}

/** Notes a call that the provider runs itself: `server_tool_use`, `mcp_tool_use`. Returns whether the block is one. */
export function readServerToolUse(block: JsonObject, turn: TurnCollector): boolean {
  const { type, id, name } = block;
  if (typeof type !== "string" || type === "tool_use" || !type.endsWith("tool_use")) return false;
  turn.addOther(type, block, id, name);
  return true;
}
