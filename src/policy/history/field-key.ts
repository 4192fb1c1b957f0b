import type { FieldSource } from "./value-provenance.ts";

/** A text that is the same for equal fields only. */
export function fieldKey(source: FieldSource): string {
  return JSON.stringify(
    "lookup" in source ? ["lookup", source.lookup, source.field] : ["tool", source.tool, source.field],
  );
}
