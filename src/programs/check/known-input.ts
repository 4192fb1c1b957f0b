import { escapePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import type { SyntaxNode } from "../../sandboxes/quickjs/syntax-tree.ts";
import type { CodePosition, KnownInput } from "./checked-code.ts";

/** What is nested deeper, and what comes after so many values, counts as unknown. */
const MAX_DEPTH = 32;
const MAX_VALUES = 2_000;

/** The longest path to a value whose parts are read: each part has a path of its own, which begins with it. */
const MAX_PATH_LENGTH = 256;

/** Reads what is literal in an expression. */
export function knownInput(node: SyntaxNode, positionOf: (node: SyntaxNode) => CodePosition): KnownInput {
  const unknown: string[] = [];
  const places: Record<string, CodePosition> = { __proto__: null } as never;
  let values = 0;

  const read = (value: SyntaxNode, path: string, depth: number): JsonValue => {
    places[path] = positionOf(value);
    if (depth <= MAX_DEPTH && ++values <= MAX_VALUES) {
      const literal = readLiteral(value);
      if (literal !== undefined) return literal;
      if (path.length <= MAX_PATH_LENGTH) {
        if (value.type === "ArrayExpression") return readList(value, path, depth);
        if (value.type === "ObjectExpression" && isPlain(value)) return readObject(value, path, depth);
      }
    }
    unknown.push(path);
    return null;
  };
  const readList = (list: SyntaxNode, path: string, depth: number): JsonValue => {
    const elements = list["elements"] as readonly (SyntaxNode | null)[];
    if (elements.some((element) => element === null || element.type === "SpreadElement")) {
      unknown.push(path);
      return null;
    }
    return elements.map((element, index) => read(element as SyntaxNode, `${path}/${index}`, depth + 1));
  };
  const readObject = (object: SyntaxNode, path: string, depth: number): JsonValue => {
    const members: [string, JsonValue][] = [];
    for (const property of object["properties"] as readonly SyntaxNode[]) {
      const value = property["value"] as SyntaxNode;
      // A member that is undefined is no member in JSON.
      if (value.type === "Identifier" && value["name"] === "undefined") continue;
      const name = nameOf(property) ?? "";
      members.push([name, read(value, `${path}/${escapePointer(name)}`, depth + 1)]);
    }
    return Object.fromEntries(members);
  };

  return { value: read(node, "", 0), unknown, places };
}

/** Whether all members of an object have names that are known, and values. */
function isPlain(object: SyntaxNode): boolean {
  return (object["properties"] as readonly SyntaxNode[]).every(
    (property) =>
      property.type === "Property" &&
      property["kind"] === "init" &&
      nameOf(property) !== undefined &&
      nameOf(property) !== "__proto__",
  );
}

/** The name of a property; `undefined` if it is computed. */
export function nameOf(property: SyntaxNode): string | undefined {
  const key = property["key"] as SyntaxNode;
  if (property["computed"] === true) return undefined;
  if (key.type === "Identifier") return String(key["name"]);
  return key.type === "Literal" ? String(key["value"]) : undefined;
}

/** Returns the value of a literal; `undefined` if it is not one that JSON has. */
function readLiteral(node: SyntaxNode): string | number | boolean | null | undefined {
  switch (node.type) {
    case "Literal": {
      const { value } = node;
      if (node["regex"] !== undefined || typeof value === "bigint") return undefined;
      return value as string | number | boolean | null;
    }
    case "TemplateLiteral": {
      const [only, ...others] = node["quasis"] as readonly SyntaxNode[];
      if (others.length > 0) return undefined;
      return (only?.["value"] as { readonly cooked?: string | null }).cooked ?? undefined;
    }
    case "UnaryExpression": {
      const value = readLiteral(node["argument"] as SyntaxNode);
      return node["operator"] === "-" && typeof value === "number" ? -value : undefined;
    }
    default:
      return undefined;
  }
}
