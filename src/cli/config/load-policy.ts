import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import type { ConfigSource } from "../../config/source.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { isJsonObject } from "../../json/value.ts";
import { loadPolicyFile } from "../../policy/file/load.ts";
import { readPolicy } from "../../policy/file/read.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import { sandboxesOf } from "../../tool/implementations.ts";
import { pathBeside } from "./config-path.ts";

/** A policy, unless it has errors, and its problems. */
export interface PolicyResult {
  readonly policy: RuntimePolicy | undefined;
  readonly problems: readonly ConfigProblem[];
}

/** Loads the `policy` of a config, which is inline or in a separate file, and checks it against the tools. */
export async function loadPolicy(source: ConfigSource, registry: ToolRegistry): Promise<PolicyResult> {
  const written = source.at(["policy"]);
  // Checking the config's shape has reported this already.
  if (typeof written !== "string" && !isJsonObject(written)) return { policy: undefined, problems: [] };
  const tools = registry.tools.map((tool) => ({ ...tool, sandboxes: sandboxesOf(tool) }));
  try {
    const { policy, warnings } =
      typeof written === "string"
        ? await loadPolicyFile(pathBeside(source.file, written), tools)
        : readPolicy(source, ["policy"], tools);
    return { policy, problems: warnings };
  } catch (error) {
    if (error instanceof ConfigError) return { policy: undefined, problems: error.problems };
    throw error;
  }
}
