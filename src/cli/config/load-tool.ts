import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import { readConfigFile } from "../../config/read-file.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import type { Tool } from "../../engine/tool.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { parsePointer } from "../../policy/json-pointer.ts";
import { normalizeSchema } from "../../schema/dialects/normalize.ts";
import { SchemaError } from "../../schema/schema-error.ts";
import type { HostImplementation } from "../../tool/host-implementation.ts";
import { absolutePathBeside, pathBeside } from "./config-path.ts";
import { loadExport } from "./load-export.ts";
import { TOOL_SHAPE, type ToolEntry } from "./tool-entry.ts";

/**
 * Loads the tool that an entry of the config describes: checks the entry, then reads its schema, and imports its host
 * function if that runs in this process.
 *
 * @throws {ConfigError} with every problem of the entry.
 */
export async function loadTool(source: ConfigSource, path: ConfigPath): Promise<Tool> {
  const problems: ConfigProblem[] = source.check(TOOL_SHAPE, path);
  if (problems.length > 0) throw new ConfigError(problems);
  const entry = source.at(path) as unknown as ToolEntry;
  const absolute = (relative: string): string => absolutePathBeside(source.file, relative);
  const { name, description, sideEffects, nullForOptional, coerce, worker, wasm, remote } = entry;
  const inputSchema = await collect(problems, () =>
    loadSchema(source, [...path, "inputSchema"], entry.dialect),
  );
  const host = await collect(problems, () => loadHost(source, [...path, "host"], entry.host));
  if (inputSchema === undefined || problems.length > 0) throw new ConfigError(problems);
  return {
    ...{ name, description, inputSchema },
    ...(sideEffects && { sideEffects }),
    ...(nullForOptional && { nullForOptional }),
    ...(coerce !== undefined && { coerce }),
    ...(host !== undefined && { host }),
    ...(worker && { worker: { ...worker, module: absolute(worker.module) } }),
    ...(wasm && { wasm: { ...wasm, component: absolute(wasm.component) } }),
    ...quickJsOf(entry, absolute),
    ...(remote && { remote }),
  };
}

function quickJsOf({ quickjs }: ToolEntry, absolute: (path: string) => string): Pick<Tool, "quickjs"> {
  const { file, source, ...rest } = quickjs ?? {};
  if (file !== undefined) return { quickjs: { ...rest, file: absolute(file) } };
  return source === undefined ? {} : { quickjs: { ...rest, source } };
}

async function loadSchema(
  source: ConfigSource,
  path: ConfigPath,
  dialect: ToolEntry["dialect"],
): Promise<JsonObject> {
  const given = source.at(path) as JsonObject | string;
  if (typeof given !== "string") return readDialect(given, dialect, source, path);
  const file = await readConfigFile(pathBeside(source.file, given));
  if (isJsonObject(file.value)) return readDialect(file.value, dialect, file, []);
  throw new ConfigError([file.problem([], "a schema must be a map")]);
}

/** Maps a schema's dialect, if it has one, to JSON Schema. What cannot be mapped is told where it stands. */
function readDialect(
  schema: JsonObject,
  dialect: ToolEntry["dialect"],
  source: ConfigSource,
  path: ConfigPath,
): JsonObject {
  if (dialect === undefined) return schema;
  try {
    return normalizeSchema(schema, { dialect }).schema;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new ConfigError(
      error.problems.map((problem) =>
        source.problem([...path, ...parsePointer(problem.path)], problem.reason),
      ),
    );
  }
}

async function loadHost(
  source: ConfigSource,
  path: ConfigPath,
  entry: ToolEntry["host"],
): Promise<HostImplementation | undefined> {
  if (entry === undefined) return undefined;
  try {
    return (await loadExport(
      absolutePathBeside(source.file, entry.module),
      entry.export,
    )) as HostImplementation;
  } catch (error) {
    throw new ConfigError([source.problem([...path, "module"], (error as Error).message)]);
  }
}

/** The result of a step; its problems join the others. */
async function collect<T>(problems: ConfigProblem[], step: () => Promise<T>): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}
