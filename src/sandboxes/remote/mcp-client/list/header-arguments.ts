import { isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";

/** A token (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const TYPES: readonly unknown[] = ["string", "integer", "boolean"];

/**
 * Returns why the `x-mcp-header` of an input schema are invalid (MCP 2026-07-28, "Custom headers"), or `undefined` if they are
 * valid. A client must leave such a tool out.
 */
export function headerProblem(schema: JsonObject): string | undefined {
  const names = new Set<string>();
  const visit = (
    node: JsonValue | undefined,
    isReachable: boolean,
    isProperty: boolean,
  ): string | undefined => {
    if (Array.isArray(node)) return firstOf(node, (item) => visit(item, false, false));
    if (!isJsonObject(node)) return undefined;
    const { "x-mcp-header": name, properties, ...others } = node;
    if (name !== undefined) {
      const problem =
        isReachable && isProperty ? nameProblem(name, node["type"], names) : "it is not on a property";
      if (problem !== undefined) return `x-mcp-header is invalid: ${problem}`;
    }
    const inProperties = isJsonObject(properties)
      ? firstOf(Object.values(properties), (each) => visit(each, isReachable, true))
      : undefined;
    return inProperties ?? firstOf(subschemas(others), (each) => visit(each, false, false));
  };
  return visit(schema, true, false);
}

function nameProblem(name: JsonValue, type: JsonValue | undefined, names: Set<string>): string | undefined {
  if (typeof name !== "string" || !TOKEN.test(name)) return "it is not a token";
  if (!TYPES.includes(type)) return "the property is neither string nor integer nor boolean";
  const lower = name.toLowerCase();
  if (names.has(lower)) return "two properties have the same one";
  names.add(lower);
  return undefined;
}

/** Values that may hold schemas. Those of `const`, `enum`, `default` and `examples` are data. */
function subschemas({
  const: _,
  enum: _enum,
  default: _default,
  examples: _examples,
  ...others
}: JsonObject): JsonValue[] {
  return Object.values(others).filter((each) => typeof each === "object" && each !== null) as JsonValue[];
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
