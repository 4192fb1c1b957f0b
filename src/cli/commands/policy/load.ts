import { ConfigError } from "../../../config/problem.ts";
import { readConfigFile } from "../../../config/source.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { RecordedInputs } from "../../../journal/recorded-inputs.ts";
import { directoryOf } from "../../../journal/storage/file-names.ts";
import type { PolicyTool } from "../../../policy/file/checked-rule.ts";
import { readPolicy } from "../../../policy/file/read.ts";
import type { RuntimePolicy } from "../../../policy/policy.ts";
import { loadAllTools, registerOffers } from "../../config/load-all-tools.ts";
import { loadConfig } from "../../config/load-config.ts";
import { isCedarEntry, loadCedar, loadPolicy } from "../../config/load-policy.ts";
import { print, showProblems, type Terminal } from "../../terminal.ts";
import { PinnedServers } from "../mcp/servers.ts";

/**
 * Loads the policy of a config and its tools, and prints warnings. The tools of MCP servers are those of the lock.
 *
 * @param policyFile A policy file that replaces the policy of the config. Default: none does.
 * @throws {ConfigError} if the config is invalid.
 */
export async function loadConfiguredPolicy(
  config: string,
  { stderr }: Terminal,
  policyFile?: string,
): Promise<{ readonly policy: RuntimePolicy; readonly registry: ToolRegistry }> {
  await using servers = new PinnedServers();
  const { policy, problems, registry, source } = await loadConfig(config, servers);
  if (policy === undefined || problems.some(({ severity }) => severity === "error")) {
    throw new ConfigError(problems);
  }
  await print(stderr, showProblems(problems));
  if (source.at(["mcp"]) !== undefined) await registerOffers(registry);
  if (policyFile === undefined) return { policy, registry };
  const { subjects } = registry;
  const other = readPolicy(await readConfigFile(policyFile), [], subjects);
  await print(stderr, showProblems(other.warnings));
  return { policy: other.policy, registry };
}

/**
 * Loads a policy from a policy file, from a file with a policy in Cedar, or from a config that has any. Rules are not
 * checked against tools. The schema of policies in Cedar is made of the tools of the config, and of those that were retained
 * for calls that were recorded.
 *
 * @param journals The directories of journals with stored tools, or files of them.
 * @throws {ConfigError} if it is invalid.
 */
export async function loadAnyPolicy(file: string, journals: readonly string[]): Promise<RuntimePolicy> {
  const source = await readConfigFile(file);
  if (isCedarEntry(source.at([]))) return loadCedar(source, [], await journalTools(journals));
  if (source.at(["policy"]) === undefined) return readPolicy(source, []).policy;
  const { policy, problems } = await loadPolicy(source, undefined, async () => {
    // A tool that cannot be loaded may have been retained. If it was not, the policies that name it are invalid.
    await using servers = new PinnedServers();
    const { subjects } = await loadAllTools(source, [], servers.importTools);
    return byName([...(await journalTools(journals)), ...subjects]);
  });
  if (policy === undefined) throw new ConfigError(problems);
  return policy;
}

async function journalTools(journals: readonly string[]): Promise<readonly PolicyTool[]> {
  const stored = await Promise.all(journals.map((place) => new RecordedInputs(directoryOf(place)).tools()));
  return byName(stored.flatMap((tools) => [...tools.values()]));
}

/** Returns the last of the tools of each name. */
function byName(tools: readonly PolicyTool[]): readonly PolicyTool[] {
  return [...new Map(tools.map((tool) => [tool.name, tool])).values()];
}
