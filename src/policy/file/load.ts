import type { LoadedPolicy } from "./read.ts";
import type { PolicyTool } from "./tool-checks.ts";

/**
 * Reads a policy file: YAML (or JSON) with the keys `rules` and `default`, as `RulePolicyOptions` has
 * them, apart from limits, which are written `wallTime: 5s`, `memory: 64MiB` and `output: 1MiB`, and from directories,
 * which are relative to the file.
 *
 * @param tools The tools that are registered. Without them, rules are not held against tools.
 * @throws {ConfigError} with every problem: the file cannot be read, is no YAML, has unknown keys or bad
 *   values, or rules that the tools cannot meet.
 */
export async function loadPolicyFile(path: string, tools?: readonly PolicyTool[]): Promise<LoadedPolicy> {
  // Many programs have their rules in code: what reads a file, and its parser, is loaded when one is read.
  const { readConfigFile } = await import("../../config/read-file.ts");
  const { readPolicy } = await import("./read.ts");
  return readPolicy(await readConfigFile(path), [], tools);
}
