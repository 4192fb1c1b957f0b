import type { PolicySubject } from "../policy.ts";
import type { CedarData } from "./cedar-library.ts";
import type { CedarPolicy } from "./cedar-policy.ts";

/**
 * Opens the policy that has this source.
 *
 * @throws {ConfigError} if the policies are invalid.
 * @throws {Error} if `@cedar-policy/cedar-wasm` is not installed.
 */
export async function openCedarData(data: CedarData): Promise<CedarPolicy> {
  return (await openCedarVariants(data)).base;
}

/** Policies in Cedar for tools that had other input schemas than those of the source. */
export interface CedarVariants {
  /** The policy that has the source. */
  readonly base: CedarPolicy;
  /** Returns the policy for calls of a tool as it was; `undefined` if the policies are invalid for it. */
  openFor(tool: Pick<PolicySubject, "name" | "inputSchema">): CedarPolicy | undefined;
}

/**
 * Opens the policy that has a source, also for tools with other schemas.
 *
 * @throws {ConfigError} if the policies are invalid.
 * @throws {Error} if `@cedar-policy/cedar-wasm` is not installed.
 */
export async function openCedarVariants(data: CedarData): Promise<CedarVariants> {
  const [{ loadCedar }, { Variants }] = await Promise.all([
    import("./cedar-library.ts"),
    import("./cedar-variants.ts"),
  ]);
  return new Variants(await loadCedar(), data);
}
