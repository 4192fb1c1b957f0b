import { open } from "node:fs/promises";
import type { WasmImplementation } from "../../../tool/implementations/wasm-implementation.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { MAX_COMPONENT_BYTES } from "./gate.ts";

/**
 * Returns a component's bytes: a copy, so that they cannot change after they were checked.
 *
 * @throws {ToolPreparationError} if it cannot be read or is too large.
 */
export async function readComponentBytes(component: WasmImplementation["component"]): Promise<Uint8Array> {
  if (component instanceof Uint8Array) {
    refuseTooLarge(component.length);
    return Uint8Array.from(component);
  }
  try {
    const isUrl = typeof component === "string" && component.startsWith("file:");
    await using file = await open(isUrl ? new URL(component) : component);
    const status = await file.stat();
    if (!status.isFile()) throw new ToolPreparationError(`${String(component)} is not a file`);
    refuseTooLarge(status.size);
    const bytes = await file.readFile();
    refuseTooLarge(bytes.length);
    return bytes;
  } catch (error) {
    if (error instanceof ToolPreparationError) throw error;
    throw new ToolPreparationError(`the component cannot be read: ${String(error)}`);
  }
}

function refuseTooLarge(bytes: number): void {
  if (bytes > MAX_COMPONENT_BYTES) {
    throw new ToolPreparationError(`the component is larger than ${MAX_COMPONENT_BYTES} bytes`);
  }
}
