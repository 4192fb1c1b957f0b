import { inSlices } from "../../base/turns.ts";

import type { PolicyTool } from "./checked-rule.ts";
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
  const { readConfigFile } = await import("../../config/source.ts");
  const { readingPolicy } = await import("./read.ts");
  return inSlices(readingPolicy(await readConfigFile(path), [], tools), {});
}

/**
 * Reads a policy from a text, like `loadPolicyFile` from a file.
 *
 * @param file The path that directories in it are relative to, and the file's name in problems.
 * @throws {ConfigError} with every problem.
 */
export async function loadPolicyText(
  text: string,
  file: string,
  tools: readonly PolicyTool[],
): Promise<LoadedPolicy> {
  // See `loadPolicyFile`.
  const { ConfigSource } = await import("../../config/source.ts");
  const { readingPolicy } = await import("./read.ts");
  const source = await inSlices(ConfigSource.parsing(text, file), {});
  return inSlices(readingPolicy(source, [], tools), {});
}
