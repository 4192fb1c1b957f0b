import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject } from "../../json/value.ts";
import { loadPolicyFile } from "../../policy/file/load.ts";
import type { LocatedPolicy } from "../../policy/file/located-policy.ts";
import { type LoadedPolicy, readPolicy } from "../../policy/file/read.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import { strictest } from "../../policy/strictest.ts";
import { pathBeside } from "./config-path.ts";

/** A policy, unless it has errors, and its problems. */
export interface PolicyResult {
  readonly policy: RuntimePolicy | undefined;
  /** The rules of each of the policies that were joined to one. */
  readonly located: readonly LocatedPolicy[];
  readonly problems: readonly ConfigProblem[];
}

/**
 * Loads the `policy` of a config, and checks it against the tools. It is inline or in a separate file, or a list of
 * such policies, which are joined by the strictest.
 */
export async function loadPolicy(source: ConfigSource, registry: ToolRegistry): Promise<PolicyResult> {
  const written = source.at(["policy"]);
  const paths: readonly ConfigPath[] = Array.isArray(written)
    ? written.map((_, index) => ["policy", index])
    : [["policy"]];
  const problems: ConfigProblem[] = [];
  const loaded: LoadedPolicy[] = [];
  for (const path of paths) {
    try {
      const policy = await loadOne(source, path, registry);
      if (policy === undefined) continue;
      loaded.push(policy);
      problems.push(...policy.warnings);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  const isWhole = loaded.length > 0 && loaded.length === paths.length;
  return {
    policy: isWhole ? strictest(...loaded.map(({ policy }) => policy)) : undefined,
    located: loaded.map(({ located }) => located),
    problems,
  };
}

/** Returns `undefined` if the policy is neither inline nor a file, which checking the config's shape has reported. */
async function loadOne(
  source: ConfigSource,
  path: ConfigPath,
  registry: ToolRegistry,
): Promise<LoadedPolicy | undefined> {
  const written = source.at(path);
  if (typeof written === "string") return loadPolicyFile(pathBeside(source.file, written), registry.subjects);
  return isJsonObject(written) ? readPolicy(source, path, registry.subjects) : undefined;
}
