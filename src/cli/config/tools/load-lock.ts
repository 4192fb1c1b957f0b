import { guardFiles } from "../../../base/guarded-files.ts";
import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import type { ConfigSource } from "../../../config/source.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import type { DefinitionLock } from "../../../pins/definition-lock.ts";
import { LOCK_NAME, readLock } from "../../../pins/lock-file.ts";
import { LockPins } from "../../../pins/lock-pins.ts";
import { pathBeside } from "../config-path.ts";
import type { ConfiguredTool } from "./load-tools.ts";

/** Where the lock of a config is, and what it has. */
export interface LocatedLock {
  readonly file: string;
  /** `undefined` if there is no such file, or if it has errors. */
  readonly lock: DefinitionLock | undefined;
  /** Present if the config names the file, and there is no such file: an error, unless the file is about to be written. */
  readonly missing?: ConfigProblem;
}

/**
 * Loads the lock of a config, and pins the definitions of the registry to it. The lock is the file that `lock` names, which
 * must exist, or `sandgate.lock` beside the config, if there is one.
 *
 * @param problems Receives every problem. If the lock has errors, the registry approves no definition.
 */
export async function loadLock(
  source: ConfigSource,
  registry: ToolRegistry,
  problems: ConfigProblem[],
): Promise<LocatedLock> {
  const named = source.at(["lock"]);
  const isNamed = typeof named === "string";
  const file = pathBeside(source.file, isNamed ? named : LOCK_NAME);
  guardFiles([{ path: file, access: "read" }]);
  try {
    const lock = await readLock(file);
    if (lock !== undefined) registry.pins = new LockPins(lock);
    if (lock !== undefined || !isNamed) return { file, lock };
    const missing = source.problem(["lock"], "the file does not exist: 'sandgate mcp pin' writes it");
    problems.push(missing);
    return { file, lock, missing };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    registry.pins = { isApproved: () => false };
    return { file, lock: undefined };
  }
}

/** Returns a warning if MCP servers are served whose definitions no one has approved: they can change them at any time. */
export function missingLock(
  source: ConfigSource,
  { file, lock, missing }: LocatedLock,
): readonly ConfigProblem[] {
  const servers = source.at(["mcp", "servers"]);
  const hasServers = typeof servers === "object" && servers !== null && Object.keys(servers).length > 0;
  if (lock !== undefined || missing !== undefined || !hasServers) return [];
  const message = `MCP servers can change the definitions of their tools at any time, as there is no ${file}: 'sandgate mcp pin' writes it`;
  return [source.problem(["mcp"], message, "warning", "key")];
}

/** Returns a warning for each tool, configured or imported, whose definition the lock does not have. */
export function unapprovedTools(
  source: ConfigSource,
  registry: ToolRegistry,
  tools: readonly ConfiguredTool[],
): readonly ConfigProblem[] {
  const paths = new Map(tools.map(({ tool: { name }, path }) => [name, path]));
  return registry.names.flatMap((name) => {
    const found = registry.find(name);
    if (found === undefined || registry.isApproved(found)) return [];
    const message = `the definition of tool '${name}' is not the one in the lock: its calls are denied`;
    return [source.problem(paths.get(name) ?? ["mcp"], message, "warning")];
  });
}
