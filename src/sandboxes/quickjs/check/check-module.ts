import { type Identifier, type Program, parse } from "acorn";
import { type SyntaxNode, walk } from "../syntax-tree.ts";
import { importedName, importProblem } from "../thread/module-names.ts";
import type { Finding } from "./finding.ts";
import { findMissingGlobals } from "./missing-globals.ts";
import { findMissingMembers, type MissingMember } from "./missing-members.ts";
import { replacementFor } from "./replacements.ts";

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
    const program = parse(source, PARSING);
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
