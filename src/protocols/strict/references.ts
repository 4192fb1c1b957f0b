import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** Returns whether a schema refers to itself, directly or through its definitions. */
export function isRecursive(schema: JsonObject): boolean {
  const definitions = new Map<string, ReadonlySet<string>>([["#", referencesOf(withoutDefinitions(schema))]]);
  for (const keyword of ["$defs", "definitions"]) {
    const group = schema[keyword];
    if (!isJsonObject(group)) continue;
    for (const [name, definition] of Object.entries(group)) {
      definitions.set(`#/${keyword}/${escapePointer(name)}`, referencesOf(definition));
    }
  }
  // Removes definitions that refer to none of the others. What remains refers in cycles.
  for (let removed = true; removed; ) {
    removed = false;
    for (const [name, references] of definitions) {
      if ([...references].some((reference) => definitions.has(reference))) continue;
      definitions.delete(name);
      removed = true;
    }
  }
  return definitions.size > 0;
}

function withoutDefinitions(schema: JsonObject): JsonObject {
  const { $defs: _, definitions: __, ...rest } = schema;
  return rest;
}

/** Returns every `$ref` in a tree. A property named `$ref` counts, too, which only makes the result more cautious. */
function referencesOf(tree: JsonValue | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== "object" || node === null) continue;
    if (isJsonObject(node) && typeof node["$ref"] === "string") found.add(node["$ref"]);
    for (const child of Object.values(node)) waiting.push(child);
  }
  return found;
}
