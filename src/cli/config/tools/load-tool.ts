import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import { defaultOf } from "../../../config/shape.ts";
import {
  type ConfigEntry,
  type ConfigPath,
  type ConfigSource,
  readConfigFile,
} from "../../../config/source.ts";
import { TEXT_SCHEMA, type Tool } from "../../../engine/tool.ts";
import { parsePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { normalizeSchema } from "../../../schema/dialects/normalize.ts";
import { SchemaError } from "../../../schema/schema-error.ts";
import type { HostImplementation } from "../../../tool/implementations/implementations.ts";
import type { ProcessImplementation } from "../../../tool/implementations/process-implementation.ts";
import { guardedPathBeside, pathBeside } from "../guard-code.ts";
import { IMPLEMENTATIONS, readProgramTimes } from "./implementation-shapes.ts";
import { CONFIG_TRAITS, TOOL_SHAPE, type ToolEntry } from "./tool-entry.ts";

/**
 * Loads the tool that an entry of the config describes: checks the entry, then reads its schema, and imports its host
 * function if that runs in this process.
 *
 * @throws {ConfigError} with every problem of the entry.
 */
export async function loadTool(source: ConfigSource, path: ConfigPath): Promise<Tool> {
  const problems: ConfigProblem[] = [];
  const entry = source.read<ToolEntry>(TOOL_SHAPE, problems, path);
  if (entry === undefined) throw new ConfigError(problems);
  const inputSchema = await collect(problems, loadSchema(entry));
  const host = await collect(problems, loadHost(entry));
  const { timeout } = entry.value;
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
  if (timeout !== undefined && timeoutMs === undefined) {
    problems.push(entry.problem(["timeout"], `must be ${DURATION_FORM}`));
  }
  const program = readProgram(entry, problems);
  if (inputSchema === undefined || problems.length > 0) throw new ConfigError(problems);
  const { name, description, freeform, nullForOptional, coerce, wasm, microvm, remote } = entry.value;
  const absolute = (relative: string): string => guardedPathBeside(entry.file, relative);
  return {
    name,
    description,
    inputSchema,
    ...(freeform !== undefined && { freeform }),
    ...traitsOf(entry.value),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(nullForOptional && { nullForOptional }),
    ...(coerce !== undefined && { coerce }),
    ...(host !== undefined && { host }),
    ...(wasm && { wasm: { ...wasm, component: absolute(wasm.component) } }),
    ...quickJsOf(entry.value, absolute),
    ...(program && { process: program }),
    ...(microvm && { microvm: { ...microvm, image: absolute(microvm.image) } }),
    ...(remote && { remote }),
  };
}

function traitsOf(entry: ToolEntry): Partial<Tool> {
  return Object.fromEntries(
    CONFIG_TRAITS.flatMap((trait) => (entry[trait] === undefined ? [] : [[trait, entry[trait]]])),
  );
}

/** Returns the program of a tool; adds a problem if one of its times is not a duration. */
function readProgram(
  entry: ConfigEntry<ToolEntry>,
  problems: ConfigProblem[],
): ProcessImplementation | undefined {
  if (entry.value.process === undefined) return undefined;
  const { killGrace, idle, ...program } = entry.value.process;
  return { ...program, ...readProgramTimes(entry, ["process"], { killGrace, idle }, problems) };
}

function quickJsOf({ quickjs }: ToolEntry, absolute: (path: string) => string): Pick<Tool, "quickjs"> {
  const { file, source, ...rest } = quickjs ?? {};
  if (file !== undefined) return { quickjs: { ...rest, file: absolute(file) } };
  return source === undefined ? {} : { quickjs: { ...rest, source } };
}

/** Returns the input schema as JSON Schema: of a free-form tool, inline, or in a file that the entry names. */
async function loadSchema(entry: ConfigEntry<ToolEntry>): Promise<JsonObject> {
  const { inputSchema = TEXT_SCHEMA, dialect } = entry.value;
  if (typeof inputSchema !== "string") {
    return toJsonSchema(inputSchema, dialect, (path, reason) =>
      entry.problem(["inputSchema", ...path], reason),
    );
  }
  const file = await readConfigFile(pathBeside(entry.file, inputSchema));
  if (!isJsonObject(file.value)) throw new ConfigError([file.problem([], "a schema must be a map")]);
  return toJsonSchema(file.value, dialect, (path, reason) => file.problem(path, reason));
}

/**
 * Maps a schema in a dialect to JSON Schema.
 *
 * @param problem Locates a problem of the schema, for the {@link ConfigError} that is thrown.
 */
function toJsonSchema(
  schema: JsonObject,
  dialect: ToolEntry["dialect"],
  problem: (path: ConfigPath, reason: string) => ConfigProblem,
): JsonObject {
  if (dialect === undefined) return schema;
  try {
    return normalizeSchema(schema, { dialect }).schema;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new ConfigError(error.problems.map(({ path, reason }) => problem(parsePointer(path), reason)));
  }
}

async function loadHost(entry: ConfigEntry<ToolEntry>): Promise<HostImplementation | undefined> {
  const { host } = entry.value;
  if (host === undefined) return undefined;
  const { thread = defaultOf(IMPLEMENTATIONS.host, "thread"), ...exported } = host;
  const module = guardedPathBeside(entry.file, exported.module);
  if (thread) return { ...exported, module };
  try {
    return (await loadExport(module, exported.export)) as HostImplementation;
  } catch (error) {
    throw new ConfigError([entry.problem(["host", "module"], (error as Error).message)]);
  }
}

/** Awaits a step. If it rejects with a `ConfigError`, adds its problems and returns `undefined`. */
async function collect<T>(problems: ConfigProblem[], step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/**
 * Imports a module of the config and returns one of its exports.
 *
 * @param path An absolute path.
 * @throws {Error} if the module is missing, cannot be loaded or has no such export. `message` says which.
 */
export async function loadExport(path: string, name = "default"): Promise<unknown> {
  // A missing module and a missing dependency of a module fail with the same error code.
  if (!(await isFile(path))) throw new Error("the module cannot be found");
  let exports: Record<string, unknown>;
  try {
    exports = await import(pathToFileURL(path).href);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : "it threw a value that is not an Error";
    throw new Error(`the module cannot be loaded: ${reason}`, { cause: thrown });
  }
  if (Object.hasOwn(exports, name)) return exports[name];
  const names = Object.keys(exports);
  const known = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
  throw new Error(`the module has no export '${name}': ${known}`);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
