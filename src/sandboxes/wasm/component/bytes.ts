import { type FileHandle, open } from "node:fs/promises";
import { sharedCopy } from "../../../base/slices.ts";
import type { WasmImplementation } from "../../../tool/implementations/wasm-implementation.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { MAX_COMPONENT_BYTES } from "./gate.ts";

/**
 * Returns a component's bytes: a copy, so that they cannot change after they were checked. Threads share it.
 *
 * @throws {ToolPreparationError} if it cannot be read or is too large.
 */
export async function readComponentBytes(component: WasmImplementation["component"]): Promise<Uint8Array> {
  if (component instanceof Uint8Array) {
    refuseTooLarge(component.length);
    return sharedCopy(component);
  }
  try {
    const isUrl = typeof component === "string" && component.startsWith("file:");
    await using file = await open(isUrl ? new URL(component) : component);
    const status = await file.stat();
    if (!status.isFile()) throw new ToolPreparationError(`${String(component)} is not a file`);
    refuseTooLarge(status.size);
    return await readAll(file, status.size);
  } catch (error) {
    if (error instanceof ToolPreparationError) throw error;
    throw new ToolPreparationError(`the component cannot be read: ${String(error)}`);
  }
}

/** Reads as many bytes as a file had. */
async function readAll(file: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(new SharedArrayBuffer(size));
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(bytes, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

function refuseTooLarge(bytes: number): void {
  if (bytes > MAX_COMPONENT_BYTES) {
    throw new ToolPreparationError(`the component is larger than ${MAX_COMPONENT_BYTES} bytes`);
  }
}
