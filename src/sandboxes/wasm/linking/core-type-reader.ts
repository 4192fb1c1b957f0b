import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "../core-module/binary-reader.ts";
import { readFunctionType, readLimits, readTable } from "../core-module/definitions.ts";
import { readValueType } from "../core-module/value-types.ts";

const MODULE_TYPE = 0x50;
const FUNCTION_TYPE = 0x60;

/**
 * Skips a core type in a type of the component model (`Binary.md`, `core:deftype`). wasm-tools validates it. Nothing
 * refers to it here: modules are given by their code.
 *
 * @throws {ToolPreparationError} if its form is not supported.
 */
export function skipCoreType(reader: BinaryReader): void {
  const form = reader.peek();
  if (form === FUNCTION_TYPE) readFunctionType(reader);
  else if (form === MODULE_TYPE) {
    reader.byte();
    reader.vector(() => skipModuleDeclaration(reader));
  } else throw new ToolPreparationError("it has a garbage-collected core type, which is not supported");
}

/** Skips an import, a type, an alias of a type outside or an export. */
function skipModuleDeclaration(reader: BinaryReader): void {
  switch (reader.byte()) {
    case 0:
      reader.name();
      reader.name();
      skipCoreExternalType(reader);
      return;
    case 1:
      skipCoreType(reader);
      return;
    case 2:
      reader.bytes(2);
      reader.u32();
      reader.u32();
      return;
    case 3:
      reader.name();
      skipCoreExternalType(reader);
      return;
    default:
      throw new ToolPreparationError("it has a module type with a declaration of an unknown kind");
  }
}

/** Skips the type of what a module imports or exports. */
function skipCoreExternalType(reader: BinaryReader): void {
  switch (reader.byte()) {
    case 0:
      reader.u32();
      return;
    case 1:
      readTable(reader);
      return;
    case 2:
      readLimits(reader);
      return;
    case 3:
      readValueType(reader);
      reader.byte();
      return;
    case 4:
      reader.byte();
      reader.u32();
      return;
    default:
      throw new ToolPreparationError("it has a module type with an item of an unknown kind");
  }
}
