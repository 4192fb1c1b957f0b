import { join } from "node:path";
import { readConfigFile } from "../../src/config/source.ts";
import type { JsonValue } from "../../src/json/value.ts";
import { readPolicy } from "../../src/policy/file/read.ts";
import type { UntrustedResult } from "../../src/policy/rule/rule.ts";
import type { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import type { SideEffects } from "../../src/tool/side-effects.ts";
import type { RecordedTool } from "./traces.ts";

/** What a person wrote about a suite. */
export interface SuitePolicy {
  /** The classes of the tools. Others are destructive. */
  readonly sideEffects: ReadonlyMap<string, SideEffects>;
  readonly policy: RulePolicy;
  /** The results, and fields of them, that outsiders can write. */
  readonly untrusted: readonly UntrustedResult[];
  /** What may be wrong with the policy. */
  readonly warnings: readonly string[];
}

/**
 * Reads `<suite>.yaml` of a folder: `sideEffects` with the names of the tools by class, and `policy`.
 *
 * @throws {ConfigError} if the policy is invalid.
 */
export async function readSuitePolicy(
  folder: string,
  suite: string,
  tools: readonly RecordedTool[],
): Promise<SuitePolicy> {
  const source = await readConfigFile(join(folder, `${suite}.yaml`));
  const written = source.at(["sideEffects"]) as Readonly<Record<SideEffects, readonly string[]>>;
  const sideEffects = new Map(
    Object.entries(written).flatMap(([effects, names]) =>
      names.map((name) => [name, effects as SideEffects] as const),
    ),
  );
  const { policy, warnings } = readPolicy(
    source,
    ["policy"],
    tools.map(({ name, inputSchema }) => ({
      name,
      inputSchema,
      sandboxes: ["host"] as const,
      sideEffects: sideEffects.get(name) ?? "destructive",
    })),
  );
  const untrusted = (source.at(["policy", "untrusted"]) ?? []) as JsonValue;
  return {
    sideEffects,
    policy,
    untrusted: untrusted as unknown as readonly UntrustedResult[],
    warnings: warnings.map(({ line, message }) => `${source.file}:${line}: ${message}`),
  };
}
