import type { ToolRegistry } from "../engine/registry.ts";
import { registerTools } from "./register-tools.ts";
import { type ToolsetName, type ToolsetOptions, toolsOf } from "./toolsets.ts";

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
