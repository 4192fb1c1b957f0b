import type { ToolRegistry } from "../engine/registry.ts";
import { DuplicateToolError } from "../engine/registry-errors.ts";
import type { Tool } from "../engine/tool.ts";

/**
 * Registers tools: all of them, or none.
 *
 * @param options.replace Whether to replace tools with the same names. Default: `false`.
 * @throws {DuplicateToolError} if the name of one of the tools is taken.
 */
export function registerTools(
  registry: ToolRegistry,
  tools: readonly Tool[],
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const taken = replace ? undefined : tools.find((tool) => registry.has(tool.name));
  if (taken !== undefined) throw new DuplicateToolError(taken.name, ["the name is taken"]);
  for (const tool of tools) registry.register(tool, { replace });
}
