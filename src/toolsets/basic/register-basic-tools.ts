import type { ToolRegistry } from "../../engine/registry.ts";
import { registerTools } from "../register-tools.ts";
import { basicTools } from "./basic-tools.ts";

/**
 * Registers `Echo`, `Read` and `Write`: all of them, or none.
 *
 * @param options.replace Whether to replace tools with the same names. Default: `false`.
 * @throws {DuplicateToolError} if a name is taken.
 */
export function registerBasicTools(
  registry: ToolRegistry,
  options: { readonly replace?: boolean } = {},
): void {
  registerTools(registry, basicTools(), options);
}
