import { ToolPreparationError } from "../../contract/sandbox.ts";

/**
 * The characters of which names in core modules may consist. jco writes the names into JavaScript between single quotes,
 * without escaping them, so a quote, a backslash or a line break could inject code.
 */
const SAFE_CORE_NAME = /^[A-Za-z0-9_$.:/@#[\]<>=+\-|!?%&~^, ()]{0,512}$/;

/** Names under which Sandgate exports what it measures and restores. */
export const OWN_NAMES = {
  memory: "sandgate:memory:",
  table: "sandgate:table:",
  global: "sandgate:global:",
  exceptions: "sandgate:exceptions",
} as const;

/**
 * Returns the name of an export of a core module.
 *
 * @throws {ToolPreparationError} if it is unsafe, or one of Sandgate's own names.
 */
export function checkExportName(name: string): string {
  if (!Object.values(OWN_NAMES).some((own) => name.startsWith(own))) return checkCoreName(name);
  throw new ToolPreparationError(
    `a core module exports ${JSON.stringify(name.slice(0, 64))}: such names are Sandgate's own`,
  );
}

/**
 * Returns a name of a core module.
 *
 * @throws {ToolPreparationError} if it is not safe in generated code.
 */
export function checkCoreName(name: string): string {
  if (SAFE_CORE_NAME.test(name)) return name;
  throw new ToolPreparationError(
    `a core module has the name ${JSON.stringify(name.slice(0, 64))}, which is refused: names there may ` +
      "be at most 512 letters, digits and the usual punctuation of ASCII, without quotes and backslashes",
  );
}
