import type { Identifier, Node, Program } from "acorn";
import { analyze, type Reference, type Scope } from "eslint-scope";
import { loadAcorn, type SyntaxNode, walk } from "../parse-program.ts";
import { importedName, importProblem } from "../thread/guest-program.ts";
import type { Finding } from "./finding.ts";

/** Replacements for members that Node.js has and the engine lacks, by their globals. */
const MISSING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
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

/** A member, or a declaration, that the engine lacks. */
interface MissingMember {
  /** As it is written, such as `Intl.Segmenter`. */
  readonly name: string;
  readonly instead: string;
  readonly node: SyntaxNode;
}

const CONDITIONS: ReadonlySet<string> = new Set(["IfStatement", "ConditionalExpression"]);

/** Where a module is prepared for a missing variable. */
interface Guards {
  /** The names that it tests with `typeof`. */
  readonly tested: ReadonlySet<string>;
  /** The blocks whose errors it catches. */
  readonly caught: readonly Node[];
}

const TAKE_INPUT = "take what the tool needs from its input";

const ES_MODULE = "write an ES module, with import and export; bundle packages";

const NO_BROWSER = "there is no page; take what the tool needs from its input";

const USE_FETCH = "use fetch";

const USE_FS = "use the context's fs";

const NO_THREADS = "there are no threads; use ArrayBuffer";

/** What a tool can use instead of a global that other runtimes have. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  process: `there are no environment variables, arguments or standard streams; ${TAKE_INPUT}`,
  Deno: TAKE_INPUT,
  Bun: TAKE_INPUT,
  require: ES_MODULE,
  module: ES_MODULE,
  exports: ES_MODULE,
  __dirname: USE_FS,
  __filename: USE_FS,
  Buffer: "use Uint8Array, with TextEncoder and TextDecoder for text",
  global: "use globalThis",
  window: "use globalThis",
  setImmediate: "use setTimeout(f, 0)",
  clearImmediate: "use clearTimeout",
  URLPattern: "use URL and a regular expression",
  XMLHttpRequest: USE_FETCH,
  WebSocket: USE_FETCH,
  EventSource: USE_FETCH,
  localStorage: USE_FS,
  sessionStorage: "use a variable; each call starts anew",
  indexedDB: USE_FS,
  document: NO_BROWSER,
  location: NO_BROWSER,
  alert: "use the context's log",
  SharedArrayBuffer: NO_THREADS,
  Atomics: NO_THREADS,
  Worker: "there are no threads; the context's tools.call calls other tools",
  WebAssembly: "register a WebAssembly component as a tool of its own (docs/wasm-tools.md)",
};

/** The longest name in a message, in characters. */
const MAX_NAME_LENGTH = 128;

/** The scope analysis needs the ranges, and messages the locations. */
const PARSING = { ecmaVersion: "latest", sourceType: "module", locations: true, ranges: true } as const;

/** What one module uses. */
export interface CheckedModule {
  readonly findings: readonly Finding[];
  /** The modules that it imports from the tool's folder, by name. */
  readonly imports: readonly string[];
}

const NOTHING: CheckedModule = { findings: [], imports: [] };

/**
 * Checks a module without running it. Code that cannot be parsed has no findings: the engine reports why when the tool
 * is loaded.
 */
export function checkModule(name: string, source: string, globals: ReadonlySet<string>): CheckedModule {
  try {
    const program = loadAcorn().parse(source, PARSING);
    const imports: string[] = [];
    const findings = [
      ...findImports(name, program, imports),
      ...findMissingGlobals(program, globals).map((identifier) => missing(name, identifier)),
      ...findMissingMembers(program).map((member) => missingMember(name, member)),
    ];
    return { findings: findings.toSorted((a, b) => a.line - b.line || a.column - b.column), imports };
  } catch (error) {
    // Code that is nested too deeply overflows the parser's stack, as it does the engine's.
    if (error instanceof SyntaxError || error instanceof RangeError) return NOTHING;
    throw error;
  }
}

function missing(module: string, identifier: Identifier): Finding {
  const instead = replacementFor(identifier.name);
  const message = `'${cut(identifier.name)}' does not exist in the sandbox${instead === undefined ? "" : `: ${instead}`}`;
  return { module, ...positionOf(identifier), kind: "global", message };
}

function missingMember(module: string, { name, instead, node }: MissingMember): Finding {
  const message = `'${name}' does not exist in the sandbox: ${instead}`;
  return { module, ...positionOf(node), kind: "member", message };
}

/** Finds imports that cannot work, and adds those of the tool's folder to `found`. */
function findImports(module: string, program: Program, found: string[]): readonly Finding[] {
  const findings: Finding[] = [];
  walk(program, (node) => {
    const source = IMPORTS.has(node.type) ? (node["source"] as SyntaxNode | null) : null;
    const specifier = source?.type === "Literal" ? source["value"] : undefined;
    if (source === null || typeof specifier !== "string") return;
    const imported = importedName(module, specifier);
    if (imported !== undefined) {
      found.push(imported);
      return;
    }
    const message = `'${cut(specifier)}' cannot be imported: ${importProblem(module, specifier)}`;
    findings.push({ module, ...positionOf(source), kind: "import", message });
  });
  return findings;
}

const IMPORTS: ReadonlySet<string> = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
]);

function positionOf({ loc }: Pick<SyntaxNode, "loc">): Pick<Finding, "line" | "column"> {
  return { line: loc?.start.line ?? 1, column: (loc?.start.column ?? 0) + 1 };
}

function cut(name: string): string {
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
}

/** Returns what to use instead of a global; `undefined` if nothing is known. */
function replacementFor(name: string): string | undefined {
  return Object.hasOwn(REPLACEMENTS, name) ? REPLACEMENTS[name] : undefined;
}

/**
 * Finds the uses of variables that a module does not declare and the sandbox does not have. A name that the module
 * tests with `typeof` is not reported: the module works without it. Neither is one inside the block of a `try` with a
 * `catch`, which receives the `ReferenceError`.
 */
function findMissingGlobals(program: Program, globals: ReadonlySet<string>): readonly Identifier[] {
  const { tested, caught } = guardsOf(program);
  return undeclared(program).filter(
    ({ name, start }) =>
      !globals.has(name) &&
      !tested.has(name) &&
      !caught.some((block) => block.start <= start && start < block.end),
  );
}

function undeclared(program: Program): readonly Identifier[] {
  const options = { ecmaVersion: 2022, sourceType: "module" } as const;
  const { globalScope } = analyze(program as Parameters<typeof analyze>[0], options);
  const references: readonly Reference[] = (globalScope as Scope | null)?.through ?? [];
  return references.map(({ identifier }) => identifier as unknown as Identifier);
}

function guardsOf(program: Program): Guards {
  const tested = new Set<string>();
  const caught: Node[] = [];
  walk(program, (node) => {
    const { type, operator, argument, handler, block } = node;
    if (type === "UnaryExpression" && operator === "typeof" && isNode(argument)) {
      const { type: operand, name } = argument;
      if (operand === "Identifier" && typeof name === "string") tested.add(name);
    }
    if (type === "TryStatement" && isNode(handler) && isNode(block)) caught.push(block);
  });
  return { tested, caught };
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value;
}

/**
 * Finds uses of members that the engine lacks, unless the module tests for the member: with `typeof`, `?.`, `??`, a
 * condition.
 */
function findMissingMembers(program: Program): readonly MissingMember[] {
  const found: MissingMember[] = [];
  const tested = new Set<string>();
  walk(program, (node) => {
    const tests =
      node.type === "UnaryExpression" && node["operator"] === "typeof" ? node["argument"] : undefined;
    const condition = CONDITIONS.has(node.type) ? node["test"] : undefined;
    const left = node.type === "LogicalExpression" ? node["left"] : undefined;
    for (const each of [tests, condition, left]) if (isNode(each)) noteTested(each, tested);
    const member = memberOf(node) ?? usingOf(node);
    if (member !== undefined) found.push(member);
  });
  return found.filter(({ name }) => !tested.has(name));
}

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
  if (!Object.hasOwn(members, name)) return undefined;
  return { name: `${owner}.${name}`, instead: members[name] as string, node: property };
}

/** The declarations `using` and `await using`, which the engine cannot parse. */
function usingOf(node: SyntaxNode): MissingMember | undefined {
  const { type, kind } = node;
  if (type !== "VariableDeclaration" || (kind !== "using" && kind !== "await using")) return undefined;
  return { name: kind, instead: "use try and finally", node };
}

/** Adds what a condition names. */
function noteTested(condition: SyntaxNode, tested: Set<string>): void {
  walk(condition as unknown as Program, (node) => {
    const member = memberOf(node);
    if (member !== undefined) tested.add(member.name);
  });
}
