import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { DuplicateToolError } from "../engine/registered-tool.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { Tool } from "../engine/tool.ts";
import { basicTools } from "./basic-tools.ts";
import { type ToolsetName, type ToolsetOptions, toolsOf } from "./toolsets.ts";

const NAMES: OptionNames<{ readonly replace?: boolean }> = { replace: true };

/** The options of a toolset, which can be left out if none is required. */
type ToolsetArguments<Name extends ToolsetName> =
  Record<never, never> extends ToolsetOptions[Name]
    ? readonly [options?: ToolsetOptions[Name]]
    : readonly [options: ToolsetOptions[Name]];

/**
 * Registers the tools of a toolset: all of them, or none. Registering a tool grants nothing: a policy decides on each of
 * its calls.
 *
 * @throws {TypeError} if there is no such toolset, or an option is invalid.
 * @throws {DuplicateToolError} if the name of one of the tools is taken.
 */
export function registerToolset<Name extends ToolsetName>(
  registry: ToolRegistry,
  name: Name,
  ...[options = {} as ToolsetOptions[Name]]: ToolsetArguments<Name>
): void {
  registerTools(registry, toolsOf(name, options, registry));
}

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
  refuseUnknown(options, NAMES, "registerBasicTools");
  registerTools(registry, basicTools(), options);
}
