import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import { compileShape, mapOf } from "../../../config/shape.ts";
import { ConfigEntry, type ConfigPath, type ConfigSource } from "../../../config/source.ts";
import { ToolRegistrationError } from "../../../engine/registered-tool.ts";
import { ToolRegistry } from "../../../engine/registry.ts";
import type { Tool } from "../../../engine/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { TOOLSET_NAMES, type ToolsetName, toolsOf } from "../../../toolsets/toolsets.ts";
import { loadTool } from "./load-tool.ts";
import { OPTIONS_READERS } from "./toolset-options.ts";

/** A tool and its place in the config. */
export interface ConfiguredTool {
  readonly tool: Tool;
  readonly path: ConfigPath;
}

/** The tools of a config. */
interface LoadedTools {
  /** The number of tools in the file, and in its toolsets that could be loaded. */
  readonly toolCount: number;
  /** The tools that are registered. */
  readonly tools: readonly ConfiguredTool[];
  readonly registry: ToolRegistry;
  /** Loads the toolsets whose tools call other tools. Called after those of MCP servers were imported. */
  readonly loadLast: () => Promise<void>;
}

/**
 * Loads the tools and toolsets of a config, and registers those without errors. Adds all errors to `problems`.
 */
export async function loadTools(source: ConfigSource, problems: ConfigProblem[]): Promise<LoadedTools> {
  const { length: entryCount } = listAt(source, "tools");
  const { length: toolsetCount } = listAt(source, "toolsets");
  const registry = new ToolRegistry({ requireSideEffects: source.at(["requireSideEffects"]) === true });
  const tools: ConfiguredTool[] = [];
  let toolCount = entryCount;
  const add = (tool: Tool, path: ConfigPath): void => {
    registry.register(tool);
    tools.push({ tool, path });
  };
  for (let index = 0; index < entryCount; index++) {
    const path = ["tools", index];
    try {
      add(await loadTool(source, path), path);
    } catch (error) {
      problems.push(...problemsOf(error, source, path));
    }
  }
  const loadSet = async (path: ConfigPath): Promise<number> => {
    try {
      const loaded = await loadToolset(source, path, registry);
      for (const tool of loaded) add(tool, path);
      return loaded.length;
    } catch (error) {
      problems.push(...problemsOf(error, source, path));
      return 0;
    }
  };
  const paths = Array.from({ length: toolsetCount }, (_, index): ConfigPath => ["toolsets", index]);
  const last = paths.filter((path) => isPrograms(source.at(path)));
  for (const path of paths) if (!last.includes(path)) toolCount += await loadSet(path);
  const loadLast = async (): Promise<void> => {
    for (const path of last) await loadSet(path);
  };
  return { toolCount, tools, registry, loadLast };
}

/** The list under a key of the config; an empty one if it is absent or not a list, which its shape reports. */
function listAt(source: ConfigSource, key: string): readonly JsonValue[] {
  const value = source.at([key]);
  return Array.isArray(value) ? value : [];
}

function problemsOf(error: unknown, source: ConfigSource, path: ConfigPath): readonly ConfigProblem[] {
  if (error instanceof ConfigError) return error.problems;
  if (!(error instanceof ToolRegistrationError)) throw error;
  return error.reasons.map((reason) => source.problem(path, reason));
}

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

/** Whether an item of `toolsets` is the toolset whose tools can call all other tools, so that it is loaded last. */
function isPrograms(item: unknown): boolean {
  return item === "programs" || (isJsonObject(item) && Object.hasOwn(item, "programs"));
}

function isToolsetName(name: unknown): name is ToolsetName {
  return typeof name === "string" && Object.hasOwn(OPTIONS_READERS, name);
}
