import { BinaryReader, sectionBytes } from "../../../src/sandboxes/wasm/core-module/binary.ts";

/** The id of a component's section with a core module. */
const CORE_MODULE = 1;
const PREAMBLE_BYTES = 8;

/** A component with another core module in place of its only one. */
export function withCore(component: Uint8Array, core: Uint8Array): Uint8Array {
  const reader = new BinaryReader(component, PREAMBLE_BYTES);
  const parts: Uint8Array[] = [component.subarray(0, PREAMBLE_BYTES)];
  while (!reader.isAtEnd) {
    const id = reader.byte();
    const content = reader.bytes(reader.u32());
    parts.push(sectionBytes(id, id === CORE_MODULE ? core : content));
  }
  return Buffer.concat(parts);
}
