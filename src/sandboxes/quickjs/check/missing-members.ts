import type { Program } from "acorn";
import { type SyntaxNode, walk } from "../syntax-tree.ts";

/** What to use instead of a member that Node.js has and the engine lacks, by the global that has it. */
const MISSING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Array: { fromAsync: "use a loop with for await" },
  Uint8Array: {
    fromBase64: "use atob",
    fromHex: "use Number.parseInt(pair, 16) for each two characters",
  },
  JSON: { rawJSON: "write the number as text", isRawJSON: "write the number as text" },
  Error: {
    captureStackTrace: "an error has its stack without it",
    stackTraceLimit: "there is no such limit",
  },
  Symbol: { dispose: "use try and finally", asyncDispose: "use try and finally" },
  Intl: {
    DisplayNames: "write the names into the tool",
    DurationFormat: "format the parts with Intl.NumberFormat",
    Locale: "pass the language tag as text",
    Segmenter: "Array.from(text) has its code points",
  },
};

/** The same for methods of values, whose kind is not known: only names that nothing else has. */
const MISSING_METHODS: Readonly<Record<string, string>> = {
  setFromBase64: "use atob",
  setFromHex: "use Number.parseInt(pair, 16) for each two characters",
  toBase64: "use btoa with String.fromCharCode",
  toHex: "use byte.toString(16).padStart(2, '0')",
};

/** A member that the engine lacks. */
export interface MissingMember {
  /** As it is written, such as `Array.fromAsync`. */
  readonly name: string;
  readonly instead: string;
  readonly node: SyntaxNode;
}

/**
 * Finds uses of members that the engine lacks, unless the module tests for the member: with `typeof`, `?.`, `??`, a
 * condition. A method that the module defines itself is not reported.
 */
export function findMissingMembers(program: Program): readonly MissingMember[] {
  const found: MissingMember[] = [];
  const tested = new Set<string>();
  const defined = new Set<string>();
  walk(program, (node) => {
    const tests =
      node.type === "UnaryExpression" && node["operator"] === "typeof" ? node["argument"] : undefined;
    const condition = CONDITIONS.has(node.type) ? node["test"] : undefined;
    const left = node.type === "LogicalExpression" ? node["left"] : undefined;
    for (const each of [tests, condition, left]) if (isNode(each)) noteTested(each, tested);
    for (const key of DEFINITIONS.has(node.type) ? [node["key"]] : [])
      if (isNode(key)) defined.add(String(key["name"]));
    const member = memberOf(node);
    if (member !== undefined) found.push(member);
  });
  return found.filter(({ name }) => !tested.has(name) && !defined.has(name.slice(name.lastIndexOf(".") + 1)));
}

const CONDITIONS: ReadonlySet<string> = new Set(["IfStatement", "ConditionalExpression"]);
const DEFINITIONS: ReadonlySet<string> = new Set(["MethodDefinition", "Property", "PropertyDefinition"]);

function memberOf(node: SyntaxNode): MissingMember | undefined {
  const { type, object, property, computed, optional } = node;
  if (
    type !== "MemberExpression" ||
    computed === true ||
    optional === true ||
    !isNode(object) ||
    !isNode(property)
  )
    return undefined;
  const name = String(property["name"]);
  const owner = object.type === "Identifier" ? String(object["name"]) : "";
  const members = Object.hasOwn(MISSING, owner) ? (MISSING[owner] ?? {}) : {};
  if (Object.hasOwn(members, name))
    return { name: `${owner}.${name}`, instead: members[name] as string, node: property };
  if (!Object.hasOwn(MISSING_METHODS, name)) return undefined;
  return { name: `.${name}`, instead: MISSING_METHODS[name] as string, node: property };
}

/** Adds what a condition names. */
function noteTested(condition: SyntaxNode, tested: Set<string>): void {
  walk(condition as unknown as Program, (node) => {
    const member = memberOf(node);
    if (member !== undefined) tested.add(member.name);
  });
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value;
}
