import type { GuestProgram } from "./guest-program.ts";

/** A module whose types cannot be removed. The message starts with the module's name and the position. */
export class TypeStrippingError extends Error {
  override readonly name = "TypeStrippingError";
  /** The module's name in its program. */
  readonly module: string;

  constructor(module: string, message: string) {
    super(message);
    this.module = module;
  }
}

let isBroken = false;

/**
 * Whether the parser has crashed. It is WebAssembly, and some sources (1,500 nested parentheses, for example) break
 * its instance permanently. Each thread has one instance, so this thread must be ended to get a new one.
 */
export function typeStripperIsBroken(): boolean {
  return isBroken;
}

/**
 * Replaces the types in a program's TypeScript modules with blanks, which preserves lines and columns.
 *
 * @throws {TypeStrippingError} for syntax that is not only types (enums, namespaces, parameter properties),
 *   for invalid syntax, and for a source that crashes the parser: see {@link typeStripperIsBroken}.
 */
export function stripProgramTypes(program: GuestProgram): GuestProgram {
  const modules = Object.entries(program.sources);
  if (!modules.some(([name]) => isTypeScript(name))) return program;
  const stripped = modules.map(([name, source]) => [name, isTypeScript(name) ? strip(name, source) : source]);
  return { ...program, sources: Object.fromEntries(stripped) as GuestProgram["sources"] };
}

function isTypeScript(name: string): boolean {
  return /\.m?ts$/.test(name);
}

function strip(name: string, source: string): string {
  // Not imported by name: Bun lacks it, and would not load this thread's code at all.
  const { stripTypeScriptTypes } = process.getBuiltinModule("node:module") as Partial<
    typeof import("node:module")
  >;
  if (stripTypeScriptTypes === undefined) {
    throw new TypeStrippingError(
      name,
      `${name}: this runtime cannot remove types: run it on Node.js, or write JavaScript`,
    );
  }
  const { emitWarning } = process;
  // Node.js would print in each thread that the function is experimental.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } catch (error) {
    const { message, stack = "", code } = error as NodeJS.ErrnoException;
    if (typeof code === "string" && SYNTAX_ERRORS.has(code)) {
      throw new TypeStrippingError(name, `${name}${positionIn(stack)}: ${message}`);
    }
    isBroken = true;
    throw new TypeStrippingError(
      name,
      `${name}: the TypeScript parser crashed: the code may be nested too deeply`,
    );
  } finally {
    process.emitWarning = emitWarning;
  }
}

const SYNTAX_ERRORS: ReadonlySet<string> = new Set([
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
]);

/** Reads the position that Node.js draws at the start of the stack: `:line`, the line itself, and a caret below. */
function positionIn(stack: string): string {
  const lines = stack.split("\n", 64);
  const line = /^:(\d+)$/.exec(lines[0] ?? "")?.[1];
  if (line === undefined) return "";
  const caret = lines.find((text) => /^ *\^+$/.test(text));
  return caret === undefined ? `:${line}` : `:${line}:${caret.indexOf("^") + 1}`;
}
