import { ToolPreparationError } from "../../contract/sandbox.ts";

/**
 * What core-module names may be made of. jco writes them into JavaScript text, between single quotes and
 * without escaping, so a quote, a backslash or a line break in one runs as code in this process.
 */
const SAFE_CORE_NAME = /^[A-Za-z0-9_$.:/@#[\]<>=+\-|!?%&~^, ()]{0,512}$/;

/** Names under which Sandgate itself exports what it measures and restores. */
export const OWN_NAMES = {
  memory: "sandgate:memory:",
  table: "sandgate:table:",
  global: "sandgate:global:",
} as const;

/**
 * Passes a name that a core module exports on.
 *
 * @throws {ToolPreparationError} unless it is safe, and none of Sandgate's own.
 */
export function checkExportName(name: string): string {
  if (!Object.values(OWN_NAMES).some((own) => name.startsWith(own))) return checkCoreName(name);
  throw new ToolPreparationError(
    `a core module exports ${JSON.stringify(name.slice(0, 64))}: such names are Sandgate's own`,
  );
}

/**
 * Passes a name of a core module on.
 *
 * @throws {ToolPreparationError} unless it is safe to stand in generated code.
 */
export function checkCoreName(name: string): string {
  if (SAFE_CORE_NAME.test(name)) return name;
  throw new ToolPreparationError(
    `a core module holds the name ${JSON.stringify(name.slice(0, 64))}, which is refused: names there may ` +
      "be at most 512 letters, digits and the usual punctuation of ASCII, without quotes and backslashes",
  );
}
