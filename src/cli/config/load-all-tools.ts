import { guardFiles } from "../../base/guarded-files.ts";
import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import type { ConfigSource } from "../../config/source.ts";
import { ToolRegistry } from "../../engine/registry.ts";
import { type DefinitionLock, LOCK_NAME, LockPins, readLock } from "../../pins/lock-file.ts";
import type { PolicySubject } from "../../policy/policy.ts";
import type { SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import { pathBeside } from "./guard-code.ts";
import { type ImportTools, loadMcp, type McpConfig } from "./load-mcp.ts";
import { loadSandboxOptions } from "./load-sandboxes.ts";
import { type ConfiguredTool, loadTools } from "./tools/load-tools.ts";

/** Where the lock of a config is, and what it has. */
export interface LocatedLock {
  readonly file: string;
  /** `undefined` if there is no such file, or if it has errors. */
  readonly lock: DefinitionLock | undefined;
  /** Present if the config names the file, and there is no such file: an error, unless the file is about to be written. */
  readonly missing?: ConfigProblem;
}

/** Every tool of a config, wherever it comes from. */
export interface AllTools {
  /** The number of tools in the file, in its toolsets that could be loaded, and of its MCP servers. */
  readonly toolCount: number;
  /** The tools of the file and its toolsets that are registered. */
  readonly tools: readonly ConfiguredTool[];
  /** With the pins of the lock, if there is one. */
  readonly registry: ToolRegistry;
  /** The tools that policies can be about: those of the registry, and those through which the offers of MCP servers are read. */
  readonly subjects: readonly PolicySubject[];
  readonly lock: LocatedLock;
  readonly sandboxOptions: SandboxesOptions;
  readonly mcp: McpConfig;
}

/**
 * Loads the tools of a config, for every command: those of the file, of its toolsets and of its MCP servers, in this order, and
 * finally the toolsets whose tools call other tools. Adds to `problems` what is wrong.
 *
 * @param importTools Registers the tools of MCP servers. Default: `mcp` is checked, and no tools are imported.
 */
export async function loadAllTools(
  source: ConfigSource,
  problems: ConfigProblem[],
  importTools?: ImportTools,
): Promise<AllTools> {
  const { toolCount: ownTools, tools, registry, loadLast } = await loadTools(source, problems);
  const lock = await loadLock(source, registry, problems);
  const sandboxOptions = await loadSandboxOptions(source, problems);
  const mcp = await loadMcp(source, problems);
  const registeredBefore = registry.size;
  if (importTools !== undefined) {
    const given = { source, mcp, sandboxOptions, registry, lock: lock.lock };
    problems.push(...(await importTools(given)));
  }
  await loadLast();
  const toolCount = ownTools + registry.size - registeredBefore;
  const subjects = [...registry.subjects, ...(await offerSubjects(mcp))];
  return { toolCount, tools, registry, subjects, lock, sandboxOptions, mcp };
}

/** The tools of the server of MCP, as policies see them. It registers its own when it is opened. */
async function offerSubjects(mcp: McpConfig): Promise<readonly PolicySubject[]> {
  if (Object.keys(mcp.servers).length === 0) return [];
  const registry = new ToolRegistry();
  await registerOffers(registry);
  return registry.subjects;
}

/** Registers the tools that read resources, prompts and completions of MCP servers, without their implementations. */
export async function registerOffers(registry: ToolRegistry): Promise<void> {
  // Loaded only for configs with servers.
  const { offerTools } = await import("../../mcp/server/offer-tools.ts");
  const tools = offerTools(
    {},
    () => null,
    () => false,
  );
  for (const tool of tools) if (!registry.has(tool.name)) registry.register(tool);
}

/**
 * Loads the lock of a config, and pins the definitions of the registry to it. The lock is the file that `lock` names, which
 * must exist, or `sandgate.lock` beside the config, if there is one.
 *
 * @param problems Receives every problem. If the lock has errors, the registry approves no definition.
 */
async function loadLock(
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
