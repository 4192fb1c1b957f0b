import { ConfigError, type ConfigProblem } from "../../../../config/problem.ts";
import { compileShape, mapOf } from "../../../../config/shape.ts";
import { ConfigEntry, type ConfigPath, type ConfigSource } from "../../../../config/source.ts";
import type { ToolRegistry } from "../../../../engine/registry.ts";
import type { Tool } from "../../../../engine/tool.ts";
import { isJsonObject, type JsonObject } from "../../../../json/value.ts";
import { TOOLSET_NAMES, type ToolsetName, toolsOf } from "../../../../toolsets/toolsets.ts";
import { OPTIONS_READERS } from "./toolset-options.ts";

/**
 * Loads the tools of an item of `toolsets`: the name of a toolset, or a map with its name as the only key and its options
 * as the value.
 *
 * @param registry Where the tools are going to be registered.
 *
 * @throws {ConfigError} with every problem of the item.
 */
export async function loadToolset(
  source: ConfigSource,
  path: ConfigPath,
  registry: ToolRegistry,
): Promise<readonly Tool[]> {
  const item = source.at(path);
  const [name, ...others] = isJsonObject(item) ? Object.keys(item) : [item];
  if (!isToolsetName(name) || others.length > 0) {
    throw new ConfigError([source.problem(path, `must be one of ${TOOLSET_NAMES.join(", ")}`)]);
  }
  const { members, read } = OPTIONS_READERS[name];
  const problems: ConfigProblem[] = [];
  const shape = compileShape(mapOf(members));
  const entry =
    typeof item === "string"
      ? new ConfigEntry<JsonObject>({}, source, path)
      : source.read<JsonObject>(shape, problems, [...path, name]);
  const options = entry && (await read(entry, problems));
  if (options === undefined || problems.length > 0) throw new ConfigError(problems);
  try {
    return toolsOf(name, options, registry);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigError([source.problem(path, error.message)]);
  }
}

/** Whether an item of `toolsets` is the toolset whose tools call all others, so that it comes after them. */
export function isPrograms(item: unknown): boolean {
  return item === "programs" || (isJsonObject(item) && Object.hasOwn(item, "programs"));
}

function isToolsetName(name: unknown): name is ToolsetName {
  return typeof name === "string" && Object.hasOwn(OPTIONS_READERS, name);
}
