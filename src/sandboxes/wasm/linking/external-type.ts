import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "../core-module/binary.ts";
import {
  readValueType as readCoreValueType,
  readFunctionType,
  readLimits,
  readTable,
} from "../core-module/definitions.ts";
import type { Definition, Scope } from "./scope.ts";
import { readType, readValueType } from "./type-reader.ts";

const MODULE_TYPE = 0x50;

const FUNCTION_TYPE = 0x60;

/**
 * Reads the name of an import or export (`Binary.md`, `importname'` and `exportname'`).
 *
 * @throws {ToolPreparationError} if its form is unknown.
 */
export function readExternalName(reader: BinaryReader): string {
  if (reader.byte() > 1) throw new ToolPreparationError("it has an import or export name of an unknown form");
  return reader.name();
}

/**
 * Reads the type of an import or export (`externdesc`) as a definition of that type. A resource that is first
 * described here becomes a new resource of the host.
 *
 * @throws {ToolPreparationError} if the type is invalid or not supported.
 */
export function readExternalType(reader: BinaryReader, scope: Scope, name: string): Definition {
  const sort = reader.byte();
  switch (sort) {
    case 0: // a core module
      reader.byte();
      reader.u32();
      return { sort: "module", module: undefined };
    case 1: {
      const type = scope.types.get(reader.u32());
      if (type.sort !== "function")
        throw new ToolPreparationError("it has a function whose type is not a function type");
      return { sort: "function type", type: type.type };
    }
    case 2: // a value
      if (reader.byte() === 0) reader.u32();
      else readValueType(reader, scope);
      throw new ToolPreparationError("it imports or exports a value, which is not supported");
    case 3:
      if (reader.byte() === 0) return { sort: "type", type: scope.types.get(reader.u32()) };
      return { sort: "type", type: { sort: "resource", resource: { name, definedBy: undefined } } };
    case 4:
      reader.u32();
      return { sort: "component", component: undefined };
    case 5: {
      const type = scope.types.get(reader.u32());
      if (type.sort !== "instance")
        throw new ToolPreparationError("it has an instance whose type is not an instance type");
      return { sort: "instance", exports: type.exports };
    }
    default:
      throw new ToolPreparationError("it imports or exports something of an unknown kind");
  }
}

/**
 * Reads the declarations of a component type or an instance type (`componentdecl`, `instancedecl`).
 *
 * @throws {ToolPreparationError} if a declaration is invalid.
 */
export function readDeclarations(reader: BinaryReader, scope: Scope, ofComponent: boolean): void {
  reader.vector(() => {
    const declaration = reader.byte();
    if (declaration === 0) {
      skipCoreType(reader);
    } else if (declaration === 1) {
      scope.types.add(readType(reader, scope, readDeclarations));
    } else if (declaration === 2) {
      readTypeAlias(reader, scope);
    } else if (declaration === 4 || (ofComponent && declaration === 3)) {
      const name = readExternalName(reader);
      const definition = readExternalType(reader, scope, name);
      scope.define(definition);
      if (declaration === 4) scope.exports.set(name, definition);
    } else {
      throw new ToolPreparationError("it has a type with a declaration of an unknown kind");
    }
  });
}

const SORT_TYPE = 3;
const SORT_INSTANCE = 5;
const SORT_CORE = 0;
const CORE_SORT_TYPE = 0x10;
const TARGET_EXPORT = 0;
const TARGET_OUTER = 2;

/** Reads an alias inside a type: of a type of an outer scope, or of an export of an instance described before. */
function readTypeAlias(reader: BinaryReader, scope: Scope): void {
  const sort = reader.byte();
  const coreSort = sort === SORT_CORE ? reader.byte() : Number.NaN;
  const target =
    sort === SORT_TYPE || sort === SORT_INSTANCE || coreSort === CORE_SORT_TYPE ? reader.byte() : Number.NaN;
  if (target === TARGET_EXPORT) {
    scope.define(findExport(scope.instances.get(reader.u32()), reader.name()));
  } else if (target === TARGET_OUTER && coreSort === CORE_SORT_TYPE) {
    // Core types are skipped.
    reader.u32();
    reader.u32();
  } else if (target === TARGET_OUTER && sort === SORT_TYPE) {
    const levels = reader.u32();
    scope.types.add(scope.enclosing(levels).types.get(reader.u32()));
  } else {
    throw new ToolPreparationError("it has a type with an alias of an unknown kind");
  }
}

/**
 * Returns an export of an instance.
 *
 * @throws {ToolPreparationError} if the instance does not have it.
 */
export function findExport(exports: ReadonlyMap<string, Definition>, name: string): Definition {
  const found = exports.get(name);
  if (found === undefined) throw new ToolPreparationError("it uses an export that an instance does not have");
  return found;
}

/**
 * Skips a core type in a type of the component model (`Binary.md`, `core:deftype`). wasm-tools validates it. Nothing
 * refers to it here: modules are given by their code.
 *
 * @throws {ToolPreparationError} if its form is not supported.
 */
function skipCoreType(reader: BinaryReader): void {
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
      readCoreValueType(reader);
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
