import type { Node } from "acorn";
import { type SyntaxNode, walk } from "../../sandboxes/quickjs/syntax-tree.ts";
import type { CodePosition, ToolUse } from "./checked-code.ts";
import { knownInput, nameOf } from "./known-input.ts";

/** The most uses that are checked; further calls are refused when they are made. */
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
  // What every object has may be meant: the program finds out when it runs.
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
