import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigSource } from "../../config/source.ts";
import { ToolRegistry } from "../../engine/registry.ts";
import type { PolicySubject } from "../../policy/policy.ts";
import type { SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import { type ImportTools, loadMcp, type McpConfig } from "./load-mcp.ts";
import { loadSandboxOptions } from "./load-sandboxes.ts";
import { type LocatedLock, loadLock } from "./tools/load-lock.ts";
import { type ConfiguredTool, loadTools } from "./tools/load-tools.ts";

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
 * at last the toolsets whose tools call others. Adds to `problems` what is wrong.
 *
 * @param importTools Registers the tools of MCP servers. Default: `mcp` is checked, and its tools are not there.
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

/** Registers the tools through which resources, prompts and completions of MCP servers are asked for, without what they read. */
export async function registerOffers(registry: ToolRegistry): Promise<void> {
  // Loaded only for configs with servers.
  const { offerTools } = await import("../../mcp/server/offers/offer-tools.ts");
  const tools = offerTools(
    {},
    () => null,
    () => false,
  );
  for (const tool of tools) if (!registry.has(tool.name)) registry.register(tool);
}
