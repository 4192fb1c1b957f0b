import { ToolPreparationError } from "../../sandbox.ts";
import type { ComponentFunction } from "./link-plan.ts";
import type { Exports } from "./scope.ts";

const MAX_FUNCTIONS = 20_000;

/** Functions by their name; those of an exported interface as `interface#function`. */
export function exportedFunctions(exports: Exports): ReadonlyMap<string, ComponentFunction> {
  const functions = new Map<string, ComponentFunction>();
  for (const [name, definition] of exports) {
    if (definition.sort === "function") functions.set(name, definition.function);
    if (definition.sort !== "instance") continue;
    refuseTooManyFunctions(functions.size + definition.exports.size);
    for (const [member, inner] of definition.exports) {
      if (inner.sort === "function") functions.set(`${name}#${member}`, inner.function);
    }
  }
  return functions;
}

/** One interface of many functions can be imported or exported under many names. */
export function refuseTooManyFunctions(count: number): void {
  if (count <= MAX_FUNCTIONS) return;
  throw new ToolPreparationError(`it imports or exports more than ${MAX_FUNCTIONS} functions`);
}
