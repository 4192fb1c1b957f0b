import type { PolicyTool } from "./policy-tool.ts";
import type { LoadedPolicy } from "./read.ts";

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
  const { readPolicy } = await import("./read.ts");
  return readPolicy(ConfigSource.parse(text, file), [], tools);
}
