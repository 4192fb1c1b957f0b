import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { DuplicateToolError } from "../engine/registered-tool.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { type ProgramOptions, programTools } from "./program-tools.ts";

const NAMES: OptionNames<ProgramOptions> = { prefix: true, tools: true, typeCheck: true };

/**
 * Registers the tools with which a model runs programs: `run_program`, `search_tools` and `describe_tools`. Register them
 * after the tools that programs call: the class of `run_program` is the worst of theirs.
 *
 * @throws {TypeError} if an option is invalid.
 * @throws {DuplicateToolError} if the name of one of the tools is taken.
 */
export function registerPrograms(registry: ToolRegistry, options: ProgramOptions = {}): void {
  refuseUnknown(options, NAMES, "registerPrograms");
  const { prefix = "" } = options;
  const tools = programTools(registry, options).map((tool) => ({ ...tool, name: `${prefix}${tool.name}` }));
  const taken = tools.find((tool) => registry.has(tool.name));
  if (taken !== undefined) throw new DuplicateToolError(taken.name, ["the name is taken"]);
  for (const tool of tools) registry.register(tool);
}
