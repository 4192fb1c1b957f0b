import type { Node } from "acorn";
import { escapePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import { type SyntaxNode, walk } from "../../sandboxes/quickjs/parse-program.ts";
import type { CodePosition, KnownInput, ToolUse } from "./checked-code.ts";

/** Deeper values, and those beyond this number, count as unknown. */
const MAX_DEPTH = 32;

const MAX_VALUES = 2_000;

/** The longest path to a value whose parts are read: each part has a path of its own, which begins with it. */
const MAX_PATH_LENGTH = 256;

/** Maximum number of uses that are checked; further calls are refused when they are made. */
const MAX_USES = 1_000;

/**
 * Finds where a program names tools: `tools.name`, `tools["name"]`, and `const { name } = tools`. A program that
 * has another variable of this name is not examined.
 *
 * @param whole The function that is the whole program, if it is one. Its parameter is `tools`.
 */
export function findToolUses(
  program: Node,
  whole: Node | undefined,
  positionOf: (node: SyntaxNode) => CodePosition,
): readonly ToolUse[] {
  const uses = new Map<SyntaxNode, ToolUse>();
  let hasOther = false;
  walk(program, (node) => {
    if (node !== whole && declaresTools(node)) hasOther = true;
    if (uses.size >= MAX_USES) return;
    if (node.type === "CallExpression") {
      const callee = node["callee"] as SyntaxNode;
      const name = memberOfTools(callee);
      if (name !== undefined) uses.set(callee, { name, ...positionOf(callee), ...inputOf(node, positionOf) });
      return;
    }
    const name = memberOfTools(node);
    if (name !== undefined && !uses.has(node)) uses.set(node, { name, ...positionOf(node) });
    for (const property of destructured(node)) {
      const member = property.type === "Property" ? nameOf(property) : undefined;
      if (member !== undefined) uses.set(property, { name: member, ...positionOf(property) });
    }
  });
  return hasOther ? [] : [...uses.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
}

/** The name in `tools.name` or `tools["name"]`. */
function memberOfTools(node: SyntaxNode): string | undefined {
  if (node.type !== "MemberExpression" || !isTools(node["object"] as SyntaxNode)) return undefined;
  const property = node["property"] as SyntaxNode;
  const name = node["computed"] === true ? property["value"] : property["name"];
  // Members of all objects are not checked: the program finds out when it runs.
  return typeof name === "string" && !(name in Object.prototype) ? name : undefined;
}

/** The properties of a pattern to which `tools` is assigned. */
function destructured(node: SyntaxNode): readonly SyntaxNode[] {
  if (node.type !== "VariableDeclarator") return [];
  const [pattern, value] = [node["id"] as SyntaxNode, node["init"] as SyntaxNode | null];
  if (value === null || pattern.type !== "ObjectPattern" || !isTools(value)) return [];
  return pattern["properties"] as readonly SyntaxNode[];
}

function isTools(node: SyntaxNode): boolean {
  return node.type === "Identifier" && node["name"] === "tools";
}

/** Whether a node declares or assigns a variable `tools`. */
function declaresTools(node: SyntaxNode): boolean {
  switch (node.type) {
    case "VariableDeclarator":
      return binds(node["id"] as SyntaxNode);
    case "AssignmentExpression":
      return binds(node["left"] as SyntaxNode);
    case "CatchClause":
      return node["param"] !== null && binds(node["param"] as SyntaxNode);
    case "FunctionDeclaration":
    case "ClassDeclaration":
      // What is exported by default need not have a name.
      if (node["id"] !== null && isTools(node["id"] as SyntaxNode)) return true;
  }
  const parameters = node["params"] as readonly SyntaxNode[] | undefined;
  return parameters?.some(binds) === true;
}

/** Whether a pattern has `tools` among its names. */
function binds(pattern: SyntaxNode): boolean {
  // Not into default values: functions that are nested in them would be walked again for each of them.
  const left: (SyntaxNode | null)[] = [pattern];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (node === null) continue;
    if (isTools(node)) return true;
    left.push(...boundBy(node));
  }
  return false;
}

/** The patterns in a pattern. */
function boundBy(pattern: SyntaxNode): readonly (SyntaxNode | null)[] {
  switch (pattern.type) {
    case "ObjectPattern":
      return pattern["properties"] as readonly SyntaxNode[];
    case "ArrayPattern":
      return pattern["elements"] as readonly (SyntaxNode | null)[];
    case "Property":
      return [pattern["value"] as SyntaxNode];
    case "RestElement":
      return [pattern["argument"] as SyntaxNode];
    case "AssignmentPattern":
      return [pattern["left"] as SyntaxNode];
    default:
      return [];
  }
}

function inputOf(call: SyntaxNode, positionOf: (node: SyntaxNode) => CodePosition): Pick<ToolUse, "input"> {
  const [first] = call["arguments"] as readonly SyntaxNode[];
  // Without an argument, the tool gets an empty object.
  if (first === undefined) return { input: { value: {}, unknown: [], places: { "": positionOf(call) } } };
  return first.type === "SpreadElement" ? {} : { input: knownInput(first, positionOf) };
}

/** Reads what is literal in an expression. */
function knownInput(node: SyntaxNode, positionOf: (node: SyntaxNode) => CodePosition): KnownInput {
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
function nameOf(property: SyntaxNode): string | undefined {
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
