import { BinaryReader, CORE_SECTION } from "../core-module/binary-reader.ts";
import { nameBytes, sectionBytes, u32Bytes } from "../core-module/binary-writer.ts";
import { FUNCTION_NAMES, MODULE_NAME, NAME_SECTION } from "../core-module/name-section.ts";

/** Names of functions with consecutive indices. */
export interface FunctionNames {
  readonly from: number;
  readonly names: readonly string[];
}

/**
 * A name section that names more functions.
 *
 * @param body The section as it is, beginning with its own name.
 * @returns `undefined` if the section is not well-formed. V8 ignores it.
 */
export function withFunctionNames(body: Uint8Array, added: FunctionNames): Uint8Array | undefined {
  try {
    const reader = new BinaryReader(body);
    reader.name();
    const before: Uint8Array[] = [];
    let functions: Uint8Array = Uint8Array.of(0);
    const after: Uint8Array[] = [];
    while (!reader.isAtEnd) {
      const id = reader.byte();
      const content = reader.bytes(reader.u32());
      if (id === FUNCTION_NAMES) functions = content;
      else (id === MODULE_NAME ? before : after).push(sectionBytes(id, content));
    }
    return nameSection([...before, functionNames(functions, added), ...after]);
  } catch {
    return undefined;
  }
}

/** A name section that names functions only. */
export function namesOfFunctions(added: FunctionNames): Uint8Array {
  return nameSection([functionNames(Uint8Array.of(0), added)]);
}

function nameSection(subsections: readonly Uint8Array[]): Uint8Array {
  return sectionBytes(CORE_SECTION.custom, nameBytes(NAME_SECTION), ...subsections);
}

function functionNames(known: Uint8Array, { from, names }: FunctionNames): Uint8Array {
  const reader = new BinaryReader(known);
  const count = reader.u32();
  const added = names.flatMap((name, index) => [...u32Bytes(from + index), ...nameBytes(name)]);
  return sectionBytes(FUNCTION_NAMES, u32Bytes(count + names.length), reader.rest(), added);
}
