import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { BinaryReader } from "../core-module/binary-reader.ts";
import { findExport } from "./external-type.ts";
import type { Scope } from "./scope.ts";

const SORT = { core: 0, type: 3, component: 4 } as const;
const CORE_SORT_TYPE = 0x10;
const CORE_SORT_MODULE = 0x11;
const TARGET = { export: 0, coreExport: 1, outer: 2 } as const;

/**
 * Reads an alias (`Binary.md`, `alias`), which adds an export or a definition of an outer scope to the index spaces.
 *
 * @throws {ToolPreparationError} if the alias is invalid.
 */
export function readAlias(reader: BinaryReader, scope: Scope): void {
  const sort = reader.byte();
  const coreSort = sort === SORT.core ? reader.byte() : Number.NaN;
  switch (reader.byte()) {
    case TARGET.export: {
      const exports = scope.instances.get(reader.u32());
      scope.define(findExport(exports, reader.name()));
      return;
    }
    case TARGET.coreExport: {
      const instance = scope.coreInstances.get(reader.u32());
      const name = reader.name();
      if (instance.kind === "instance") {
        scope.coreItems(coreSort).add({ kind: "export", instance: instance.instance, name });
        return;
      }
      const item = instance.items.get(name);
      if (item === undefined)
        throw new ToolPreparationError("it uses an export that a core instance does not have");
      scope.coreItems(coreSort).add(item);
      return;
    }
    case TARGET.outer: {
      const from = scope.enclosing(reader.u32());
      const index = reader.u32();
      // Core types are skipped, wherever they are.
      if (coreSort === CORE_SORT_TYPE) return;
      if (sort === SORT.type) scope.types.add(from.types.get(index));
      else if (sort === SORT.component) scope.components.add(from.components.get(index));
      else if (coreSort === CORE_SORT_MODULE) scope.modules.add(from.modules.get(index));
      else throw new ToolPreparationError("it has an alias of an unknown kind");
      return;
    }
    default:
      throw new ToolPreparationError("it has an alias of an unknown kind");
  }
}
