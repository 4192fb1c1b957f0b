import { ToolPreparationError } from "../../sandbox.ts";
import { casesOf, fieldsOf, type ValueType } from "./value-type.ts";

/** How much a type may hold, written out: a few bytes of a component can describe a type without end. */
const MAX_PARTS = 10_000;
const MAX_DEPTH = 100;

interface Size {
  readonly parts: number;
  readonly depth: number;
}

const sizes = new WeakMap<ValueType, Size>();

/**
 * Passes a type whose parts were passed before.
 *
 * @throws {ToolPreparationError} when it is too large.
 */
export function checkTypeSize(type: ValueType): void {
  const { parts, depth } = sizeOf(type);
  if (parts > MAX_PARTS || depth > MAX_DEPTH) {
    throw new ToolPreparationError(
      `it has a type of more than ${MAX_PARTS} parts, or of more than ${MAX_DEPTH} levels`,
    );
  }
}

function sizeOf(type: ValueType): Size {
  const known = sizes.get(type);
  if (known !== undefined) return known;
  let parts = 1;
  let depth = 0;
  for (const part of partsOf(type)) {
    const size = part === undefined ? { parts: 1, depth: 0 } : sizeOf(part);
    parts += size.parts;
    depth = Math.max(depth, size.depth);
  }
  const size = { parts, depth: depth + 1 };
  sizes.set(type, size);
  return size;
}

function partsOf(type: ValueType): readonly (ValueType | undefined)[] {
  if (type.kind === "list") return [type.element];
  if (type.kind === "flags") return type.names.map(() => undefined);
  return casesOf(type) ?? fieldsOf(type) ?? [];
}
