import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "../core-module/binary-reader.ts";
import { readExternalName, readExternalType } from "./external-type.ts";
import type { Definition, Scope } from "./scope.ts";

/**
 * Reads an export, which adds what it exports to the index spaces once more.
 *
 * @throws {ToolPreparationError} if the export is invalid.
 */
export function readExport(reader: BinaryReader, scope: Scope): void {
  const name = readExternalName(reader);
  const definition = readDefinition(reader, scope);
  // The type ascription can only hide parts of the definition, so it is ignored.
  if (reader.byte() === 1) readExternalType(reader, scope, name);
  scope.define(definition);
  scope.exports.set(name, definition);
}

/**
 * Returns the definition that a sort and an index (`Binary.md`, `sortidx`) refer to.
 *
 * @throws {ToolPreparationError} if there is none.
 */
export function readDefinition(reader: BinaryReader, scope: Scope): Definition {
  const sort = reader.byte();
  if (sort === 0) reader.byte();
  const index = reader.u32();
  switch (sort) {
    case 0:
      return { sort: "module", module: scope.modules.get(index) };
    case 1:
      return { sort: "function", function: scope.functions.get(index) };
    case 3:
      return { sort: "type", type: scope.types.get(index) };
    case 4:
      return { sort: "component", component: scope.components.get(index) };
    case 5:
      return { sort: "instance", exports: scope.instances.get(index) };
    default:
      throw new ToolPreparationError("it imports or exports something of an unknown kind");
  }
}
