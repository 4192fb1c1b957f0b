import { readFile } from "node:fs/promises";
import { guardFiles } from "../../base/guarded-files.ts";
import { inSlices } from "../../base/turns.ts";
import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, described, mapOf, PATH } from "../../config/shape.ts";
import { type ConfigPath, ConfigSource, readConfigFile } from "../../config/source.ts";
import { anyObject, record, type TypeOf } from "../../json/shape.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { CedarPolicy } from "../../policy/cedar/cedar-policy.ts";
import type { LocatedPolicy, PolicyTool } from "../../policy/file/checked-rule.ts";
import { proofProblems } from "../../policy/file/invariant-checks.ts";
import { loadPolicyFile } from "../../policy/file/load.ts";
import { type LoadedPolicy, readingUnproved, readUnproved } from "../../policy/file/read.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import type { Proof } from "../../policy/proof/invariant.ts";
import { type AllowedUse, usedBy } from "../../policy/rule/rule.ts";
import { strictest } from "../../policy/strictest.ts";
import { pathBeside } from "./guard-code.ts";

const CEDAR = mapOf(
  {
    cedar: described(PATH, "The file of policies in Cedar: see docs/cedar.md#in-sandgateyaml."),
    grants: described(
      record(anyObject()),
      "What the policies in Cedar grant, by name: the `sandboxes`, `isolation`, `limits` and `capabilities` of a rule.",
    ),
  },
  ["cedar", "grants"],
);

/** The shape of a policy in Cedar. */
export const CEDAR_SHAPE: CompiledShape = compileShape(CEDAR);

/** A policy in Cedar, as a config names it. */
type CedarEntry = TypeOf<typeof CEDAR>;

/** A policy, unless it has errors, and its problems. */
interface PolicyResult {
  readonly policy: RuntimePolicy | undefined;
  /** The rules of each of the policies that were joined to one. */
  readonly located: readonly LocatedPolicy[];
  readonly problems: readonly ConfigProblem[];
  /** The proofs of the invariants of each policy, in their order. */
  readonly proofs: readonly LocatedProof[];
}

/** A proof of an invariant, and those of the config's problems that it is the reason for: none if it is proved. */
export interface LocatedProof {
  readonly proof: Proof;
  readonly problems: readonly ConfigProblem[];
}

/** Returns the tools of which the schema of policies in Cedar is made. Is called only if there are any. */
type CedarTools = () => Promise<readonly PolicyTool[]>;

/**
 * Loads the `policy` of a config, and checks it against the tools. It is inline or in a separate file, or a list of
 * such policies, which are joined by the strictest.
 *
 * @param tools The registered tools. Without them, rules are not checked against tools.
 * @param cedarTools Default: the registered tools.
 */
export async function loadPolicy(
  source: ConfigSource,
  tools: readonly PolicyTool[] | undefined,
  cedarTools: CedarTools = async () => tools ?? [],
): Promise<PolicyResult> {
  const written = source.at(["policy"]);
  const paths: readonly ConfigPath[] = Array.isArray(written)
    ? written.map((_, index) => ["policy", index])
    : [["policy"]];
  const problems: ConfigProblem[] = [];
  const loaded: Loaded[] = [];
  const proofs: LocatedProof[] = [];
  for (const path of paths) {
    try {
      const policy = await loadOne(source, path, tools, cedarTools);
      if (policy === undefined) continue;
      loaded.push(policy);
      problems.push(...policy.warnings);
      const { located } = policy;
      if (located === undefined) continue;
      for (const proof of policy.proofs) {
        const unproved = proofProblems([proof], located);
        problems.push(...unproved);
        proofs.push({ proof, problems: unproved });
      }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  const isProved = proofs.every(({ proof }) => proof.verdict === "proved");
  const isWhole = loaded.length > 0 && loaded.length === paths.length && isProved;
  return {
    policy: isWhole ? strictest(...loaded.map(({ policy }) => policy)) : undefined,
    located: loaded.flatMap(({ located }) => located ?? []),
    problems,
    proofs,
  };
}

/** Returns `undefined` if the policy is neither inline nor a file, which checking the config's shape has reported. */
async function loadOne(
  source: ConfigSource,
  path: ConfigPath,
  tools: readonly PolicyTool[] | undefined,
  cedarTools: CedarTools,
): Promise<Loaded | undefined> {
  const written = source.at(path);
  if (typeof written === "string") {
    return readOne(await readConfigFile(pathBeside(source.file, written)), [], tools, cedarTools);
  }
  return isJsonObject(written) ? readOne(source, path, tools, cedarTools) : undefined;
}

/** A policy of rules, or one in Cedar, which has no rules to locate. */
type Loaded = Pick<LoadedPolicy, "warnings" | "proofs"> & {
  readonly policy: RuntimePolicy;
  readonly located?: LocatedPolicy;
};

async function readOne(
  source: ConfigSource,
  path: ConfigPath,
  tools: readonly PolicyTool[] | undefined,
  cedarTools: CedarTools,
): Promise<Loaded> {
  if (!isCedarEntry(source.at(path))) return inSlices(readingUnproved(source, path, tools), {});
  const policy = await loadCedar(source, path, await cedarTools());
  return { policy, warnings: policy.warnings, proofs: [] };
}

/** Loads the file that `shadow` names, a candidate for the policy. Adds to `problems` what is wrong with it. */
export async function loadShadow(
  source: ConfigSource,
  tools: readonly PolicyTool[],
  problems: ConfigProblem[],
): Promise<RuntimePolicy | undefined> {
  const file = source.at(["shadow"]);
  if (typeof file !== "string") return undefined;
  try {
    const path = pathBeside(source.file, file);
    const shadow = await readConfigFile(path);
    const loaded = isCedarEntry(shadow.at([]))
      ? await readOne(shadow, [], tools, async () => tools)
      : await loadPolicyFile(path, tools);
    problems.push(...loaded.warnings);
    return loaded.policy;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** Whether a part of a config is a policy in Cedar. */
export function isCedarEntry(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && value["cedar"] !== undefined;
}

/**
 * Loads a policy in Cedar: its file, and the grants beside it, which are written like those of rules.
 *
 * @throws {ConfigError} with every problem.
 */
export async function loadCedar(
  source: ConfigSource,
  path: ConfigPath,
  tools: readonly PolicyTool[],
): Promise<CedarPolicy> {
  const flaws = source.check(CEDAR_SHAPE, path);
  if (flaws.length > 0) throw new ConfigError(flaws);
  const { cedar, grants } = source.at(path) as unknown as CedarEntry;
  const file = pathBeside(source.file, cedar);
  guardFiles([{ path: file, access: "read" }]);
  const policies = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    const message = `cannot read '${cedar}': ${error.code ?? error.message}`;
    throw new ConfigError([source.problem([...path, "cedar"], message, "error")]);
  });
  const { openCedarPolicy } = await import("../../policy/cedar/cedar-policy.ts");
  return openCedarPolicy({ policies, tools, grants: readGrants(grants, source, path), file });
}

/** Reads the grants as those of rules are read. Their problems are reported at the grants. */
function readGrants(grants: JsonObject, source: ConfigSource, path: ConfigPath): Record<string, AllowedUse> {
  const rules = Object.entries(grants).map(([name, use]) => ({
    ...(use as JsonObject),
    name,
    tools: ["*"],
    effect: "allow",
  }));
  try {
    const { located } = readUnproved(ConfigSource.parse(JSON.stringify({ rules }), source.file), []);
    return Object.fromEntries(located.rules.map((rule) => [rule.name, usedBy(rule) as AllowedUse]));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(
      error.problems.map(({ message }) => source.problem([...path, "grants"], message, "error")),
    );
  }
}
