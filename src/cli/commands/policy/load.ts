import { ConfigError } from "../../../config/problem.ts";
import { readConfigFile } from "../../../config/read-file.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { readPolicy } from "../../../policy/file/read.ts";
import type { RuntimePolicy } from "../../../policy/policy.ts";
import { loadConfig } from "../../config/load-config.ts";
import { loadPolicy } from "../../config/load-policy.ts";
import { showProblems } from "../../terminal/problems.ts";
import { print, type Terminal } from "../../terminal/terminal.ts";

/**
 * Loads the policy of a config and its tools, and prints warnings.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function loadConfiguredPolicy(
  config: string,
  { stderr }: Terminal,
): Promise<{ readonly policy: RuntimePolicy; readonly registry: ToolRegistry }> {
  const { policy, problems, registry } = await loadConfig(config);
  if (policy === undefined || problems.some(({ severity }) => severity === "error")) {
    throw new ConfigError(problems);
  }
  await print(stderr, showProblems(problems));
  return { policy, registry };
}

/**
 * Loads a policy without its tools, from a policy file or from a config that has one.
 *
 * @throws {ConfigError} if it is invalid.
 */
export async function loadAnyPolicy(file: string): Promise<RuntimePolicy> {
  const source = await readConfigFile(file);
  if (source.at(["policy"]) === undefined) return readPolicy(source, []).policy;
  const { policy, problems } = await loadPolicy(source, undefined);
  if (policy === undefined) throw new ConfigError(problems);
  return policy;
}
