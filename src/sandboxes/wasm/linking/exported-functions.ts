import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { ComponentFunction } from "./link-plan.ts";
import type { Exports } from "./scope.ts";
import { functionSize } from "./value-type.ts";

const MAX_FUNCTIONS = 20_000;

/**
 * Limits of all exported functions together. Inspecting a component writes out the type and the schema of each
 * function, and a binary of a few KB can export a large type thousands of times.
 */
const MAX_EXPORTS = 1_000;
const MAX_PARTS = 200_000;
const MAX_NAME_LENGTH = 8 * 1_024 * 1_024;

/**
 * Returns the exported functions by name. Those of an exported interface are named `interface#function`.
 *
 * @throws {ToolPreparationError} if there are too many functions, or their types are too large.
 */
export function exportedFunctions(exports: Exports): ReadonlyMap<string, ComponentFunction> {
  const functions = new ExportedFunctions();
  let members = 0;
  for (const [name, definition] of exports) {
    if (definition.sort === "function") functions.add(name, definition.function);
    if (definition.sort !== "instance") continue;
    members += definition.exports.size;
    refuseTooManyFunctions(members);
    for (const [member, inner] of definition.exports) {
      if (inner.sort === "function") functions.add(`${name}#${member}`, inner.function);
    }
  }
  return functions.byName;
}

/** Collects exported functions within the limits. */
export class ExportedFunctions {
  readonly byName: Map<string, ComponentFunction> = new Map();
  #parts = 0;
  #nameLength = 0;

  /** @throws {ToolPreparationError} if there are too many functions, or their types are too large. */
  add(name: string, added: ComponentFunction): void {
    const { parts, nameLength } = functionSize(added.type);
    this.#parts += parts;
    this.#nameLength += name.length + nameLength;
    bound("functions", this.byName.size + 1, MAX_EXPORTS);
    bound("parts of types", this.#parts, MAX_PARTS);
    bound("characters of names", this.#nameLength, MAX_NAME_LENGTH);
    this.byName.set(name, added);
  }
}

function bound(what: string, count: number, max: number): void {
  if (count <= max) return;
  throw new ToolPreparationError(
    `its exports have more than ${max} ${what}: export fewer functions, or smaller types`,
  );
}

/**
 * Limits the number of functions, because an interface with many functions can be imported or exported under many
 * names.
 *
 * @throws {ToolPreparationError} if there are too many.
 */
export function refuseTooManyFunctions(count: number): void {
  if (count <= MAX_FUNCTIONS) return;
  throw new ToolPreparationError(`it imports or exports more than ${MAX_FUNCTIONS} functions`);
}
