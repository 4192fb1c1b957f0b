import type { PolicyTool } from "./policy-tool.ts";
import type { LoadedPolicy } from "./read.ts";

/**
 * Reads a policy file: YAML (or JSON) with the keys `rules` and `default` of `RulePolicyOptions`. Two things
 * are written differently in a file: limits, such as `wallTime: 5s` and `memory: 64MiB`, and directories,
 * which are relative to the file.
 *
 * @param tools The registered tools, as `registry.subjects` has them. Without them, rules are not checked against tools.
 * @throws {ConfigError} with every problem: the file cannot be read, is not valid YAML, or has unknown keys,
 *   invalid values or rules that cannot apply to the tools.
 */
export async function loadPolicyFile(path: string, tools?: readonly PolicyTool[]): Promise<LoadedPolicy> {
  // Many programs have their rules in code, so the YAML parser is loaded only if a file is read.
  const { readConfigFile } = await import("../../config/read-file.ts");
  const { readPolicy } = await import("./read.ts");
  return readPolicy(await readConfigFile(path), [], tools);
}
