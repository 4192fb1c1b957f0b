/** The keywords of a lowered schema. */
type Schema = Readonly<Record<string, unknown>>;

/**
 * Returns whether ajv compiles a schema to code that accepts values that it must not. It takes the missing name `""` for
 * none, does not look for `contains` in an empty array if there is a list of schemas for items, and takes `constructor`
 * and the like for evaluated members.
 */
export function isMiscompiled(schema: Schema): boolean {
  if ("unevaluatedProperties" in schema || "unevaluatedItems" in schema) return true;
  if ("contains" in schema && ("prefixItems" in schema || Array.isArray(schema["items"]))) return true;
  const lists = [
    schema["required"],
    ...valuesOf(schema["dependentRequired"]),
    ...valuesOf(schema["dependencies"]),
  ];
  return lists.some((names) => Array.isArray(names) && names.includes(""));
}

function valuesOf(lists: unknown): readonly unknown[] {
  return typeof lists === "object" && lists !== null ? Object.values(lists) : [];
}
