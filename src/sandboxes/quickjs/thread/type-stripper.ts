import { stripTypeScriptTypes } from "node:module";
import { ToolPreparationError } from "../../contract/sandbox.ts";

/** Whether a module of this name is TypeScript. */
export function isTypeScript(name: string): boolean {
  return /\.m?ts$/.test(name);
}

/**
 * Blanks the types out of a module, so that every line and column stays where it was.
 *
 * @throws {ToolPreparationError} with file, line and column for what types cannot simply be taken from (enums,
 *   namespaces, parameter properties), and for what does not parse.
 */
export function stripTypes(name: string, source: string): string {
  try {
    return stripTypeScriptTypes(source);
  } catch (error) {
    const { message, stack = "" } = error instanceof Error ? error : new Error(String(error));
    throw new ToolPreparationError(`${name}${positionIn(stack)}: ${message}`);
  }
}

/** Node tells the position as the compiler draws it: `:line`, the line itself, and a caret below. */
function positionIn(stack: string): string {
  const lines = stack.split("\n");
  const line = /^:(\d+)$/.exec(lines[0] ?? "")?.[1];
  if (line === undefined) return "";
  const caret = lines.find((text) => /^ *\^+$/.test(text));
  return caret === undefined ? `:${line}` : `:${line}:${caret.indexOf("^") + 1}`;
}
