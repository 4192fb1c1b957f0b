import { ConfigError } from "../../../config/problem.ts";
import type { DefinitionLock } from "../../../pins/definition-lock.ts";
import { registeredDefinitions } from "../../../pins/registered-definitions.ts";
import { registerOffers } from "../../config/load-all-tools.ts";
import { loadConfig } from "../../config/load-config.ts";
import type { LocatedLock } from "../../config/tools/load-lock.ts";
import { showProblems } from "../../terminal/problems.ts";
import { print, type Terminal } from "../../terminal/terminal.ts";
import { ConfiguredServers } from "./servers.ts";

/** The definitions of a config as they are now, and as they were approved. */
export interface FoundDefinitions {
  readonly current: DefinitionLock;
  readonly located: LocatedLock;
}

/**
 * Loads the tools of a config, those of its MCP servers included, and its lock, and prints warnings.
 *
 * @throws {ConfigError} if the config is invalid. A lock that does not exist is no problem.
 */
export async function findDefinitions(config: string, { stderr }: Terminal): Promise<FoundDefinitions> {
  await using servers = new ConfiguredServers("error");
  const { lock: located, problems: all, registry } = await loadConfig(config, servers);
  const problems = all.filter((problem) => problem !== located.missing);
  // Tools that cannot be loaded would be missing from the lock.
  if (problems.some(({ severity }) => severity === "error")) throw new ConfigError(problems);
  await print(stderr, showProblems(problems));
  const said = servers.definitions();
  // Where servers have resources or prompts, they are read through tools of the server of MCP. Names of servers have no `/`.
  if ([...said.keys()].some((name) => name.includes("/"))) await registerOffers(registry);
  return { current: registeredDefinitions(registry, said), located };
}
