import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import { compileShape, mapOf } from "../../../config/shape.ts";
import type { ConfigPath, ConfigSource } from "../../../config/source.ts";
import type { Tool } from "../../../engine/tool.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { TOOLSET_NAMES, type ToolsetName, toolsOf } from "../../../toolsets/toolsets.ts";
import { OPTIONS_READERS } from "./toolset-options.ts";

/**
 * Loads the tools of an item of `toolsets`: the name of a toolset, or a map with its name as the only key and its options
 * as the value.
 *
 * @throws {ConfigError} with every problem of the item.
 */
export function loadToolset(source: ConfigSource, path: ConfigPath): readonly Tool[] {
  const item = source.at(path);
  const [name, ...others] = isJsonObject(item) ? Object.keys(item) : [item];
  if (!isToolsetName(name) || others.length > 0) {
    throw new ConfigError([source.problem(path, `must be one of ${TOOLSET_NAMES.join(", ")}`)]);
  }
  if (typeof item === "string") return toolsOf(name, {});
  const { members, read } = OPTIONS_READERS[name];
  const problems: ConfigProblem[] = [];
  const entry = source.read<JsonObject>(compileShape(mapOf(members)), problems, [...path, name]);
  const options = entry && read(entry, problems);
  if (options === undefined || problems.length > 0) throw new ConfigError(problems);
  return toolsOf(name, options);
}

function isToolsetName(name: unknown): name is ToolsetName {
  return typeof name === "string" && Object.hasOwn(OPTIONS_READERS, name);
}
