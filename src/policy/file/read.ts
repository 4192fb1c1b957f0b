import { dirname, resolve } from "node:path";
import { atOnce, type Steps } from "../../base/turns.ts";
import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import { compileShape, described, type Flaw, type Shape } from "../../config/shape.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../tool/side-effects.ts";
import type { RuleCapabilities } from "../grant/execution-grant.ts";
import { isFileTemplate } from "../grant/file-template.ts";
import type { PolicySubject } from "../policy.ts";
import type { Proof } from "../proof/invariant.ts";
import { INVARIANTS, type Invariant, invariantFlaws } from "../proof/invariant.ts";
import { ProofSizeError, prove } from "../proof/prove.ts";
import type {
  AllowedUse,
  AllowRule,
  AskRule,
  DefaultUse,
  DenyRule,
  PolicyRule,
  RulePolicyOptions,
  UntrustedResult,
} from "../rule/rule.ts";
import { ruleFlaws, ruleName } from "../rule/rule-flaws.ts";
import { RulePolicy } from "../rule/rule-policy.ts";
import { policySchema } from "../rule/rule-shape.ts";
import type { LocatedPolicy, PolicyTool } from "./checked-rule.ts";
import { invariantWarnings, proofProblems } from "./invariant-checks.ts";
import { checkAgainstTools } from "./tool-checks.ts";
import { readLimits, WRITTEN_LIMITS, type WrittenLimits } from "./written-limits.ts";

let shape: Shape | undefined;

/** The shape of a policy in a file, in which limits have units, and which can have invariants. */
const policyFileShape: Shape = (value) => {
  shape ??= compileShape(policyFileSchema());
  return shape(value);
};

/** A policy that was read from a file, and problems that do not prevent its use. */
export interface LoadedPolicy {
  readonly policy: RulePolicy;
  /** Sorted by their positions in the file. */
  readonly warnings: readonly ConfigProblem[];
  /** How each of the file's invariants was proved; empty if the policy was read without tools. */
  readonly proofs: readonly Proof[];
  /** @internal */
  readonly located: LocatedPolicy;
}

/** Policies in Cedar need an optional dependency, and a file of their own. */
const CEDAR_UNSUPPORTED = "a policy in Cedar is not supported here: name its file in sandgate.yaml";

/**
 * Reads the policy at a path of a configuration. See `loadPolicyFile` for its format.
 *
 * @throws {ConfigError} with every problem.
 */
export function readPolicy(
  source: ConfigSource,
  path: ConfigPath,
  tools?: readonly PolicyTool[],
): LoadedPolicy {
  return atOnce(readingPolicy(source, path, tools));
}

/** Like {@link readPolicy}, in steps. */
export function* readingPolicy(
  source: ConfigSource,
  path: ConfigPath,
  tools?: readonly PolicyTool[],
): Steps<LoadedPolicy> {
  const read = yield* readingUnproved(source, path, tools);
  const failures = proofProblems(read.proofs, read.located);
  if (failures.length > 0) throw new ConfigError([...read.warnings, ...failures].sort(byPosition));
  return read;
}

/**
 * Like {@link readPolicy}, but accepts a policy whose invariants are not proved: it must not decide on calls.
 *
 * @throws {ConfigError} with every other problem.
 */
export function readUnproved(
  source: ConfigSource,
  path: ConfigPath,
  tools?: readonly PolicyTool[],
): LoadedPolicy {
  return atOnce(readingUnproved(source, path, tools));
}

/** Like {@link readUnproved}, in steps. */
export function* readingUnproved(
  source: ConfigSource,
  path: ConfigPath,
  tools?: readonly PolicyTool[],
): Steps<LoadedPolicy> {
  const value = source.at(path);
  if (value === undefined) throw new ConfigError(source.check(policyFileShape, path));
  if (isJsonObject(value) && value["cedar"] !== undefined) {
    throw new ConfigError([source.problem([...path, "cedar"], CEDAR_UNSUPPORTED, "error", "key")]);
  }
  const flaws = [...policyFileShape(value)];
  yield;
  // The valid rules are checked further even if some are invalid.
  const written = soundPart(value, flaws);
  const rules = written.rules.map(([index, rule]): [number, PolicyRule] => [
    index,
    rule.effect === "deny" ? rule : readUse(rule, source.file, ["rules", String(index)], flaws),
  ]);
  const { default: otherwise = "deny" } = written;
  const byDefault = otherwise === "deny" ? otherwise : readUse(otherwise, source.file, ["default"], flaws);
  flaws.push(...(yield* ruleFlaws(rules, byDefault, written.untrusted)));
  flaws.push(...invariantFlaws(written.invariants));
  yield;
  const problems = flaws.map((flaw) =>
    source.problem([...path, ...flaw.path], flaw.message, "error", flaw.at),
  );
  if (tools !== undefined)
    problems.push(
      ...(yield* checkAgainstTools(rules, byDefault, tools, { source, path }, written.untrusted)),
    );
  yield;
  const inOrder = rules.map(([, rule]) => rule);
  const { untrusted } = written;
  const options = { rules: inOrder, default: byDefault, ...(untrusted && { untrusted }) };
  const located = { ...options, problem: locator(source, path) };
  problems.push(...warningsOf(written.invariants, located, tools));
  problems.sort(byPosition);
  if (problems.some(({ severity }) => severity === "error")) throw new ConfigError(problems);
  yield;
  const named = inOrder.map((rule, index) => {
    const { line } = located.problem(["rules", String(index)], "", "warning");
    return { name: ruleName(rule, index), line };
  });
  const invariants = written.invariants as unknown as readonly JsonValue[];
  const place = { file: source.file, rules: named, invariants };
  const policy = new RulePolicy(options, Date.now, true, place);
  yield;
  const proofs = tools === undefined ? [] : proveAll(options, written.invariants, tools, located);
  return { policy, warnings: problems, proofs, located };
}

function proveAll(
  options: RulePolicyOptions,
  invariants: readonly Invariant[],
  tools: readonly PolicyTool[],
  { problem }: LocatedPolicy,
): readonly Proof[] {
  try {
    return prove(options, invariants, tools.map(asSubject));
  } catch (error) {
    if (!(error instanceof ProofSizeError)) throw error;
    throw new ConfigError([problem(["invariants"], error.message, "error")]);
  }
}

function byPosition(a: ConfigProblem, b: ConfigProblem): number {
  return a.line - b.line || a.column - b.column;
}

function asSubject(tool: PolicyTool): PolicySubject {
  return { ...tool, sideEffects: tool.sideEffects ?? UNDECLARED_SIDE_EFFECTS };
}

function warningsOf(
  invariants: readonly Invariant[],
  located: LocatedPolicy,
  tools: readonly PolicyTool[] | undefined,
): readonly ConfigProblem[] {
  if (tools !== undefined) return invariantWarnings(invariants, tools, located);
  if (invariants.length === 0) return [];
  const message = "the invariants are not proved, since the policy was loaded without its tools";
  return [located.problem(["invariants"], message, "warning")];
}

function locator(source: ConfigSource, base: ConfigPath): LocatedPolicy["problem"] {
  return (path, message, severity) => source.problem([...base, ...path], message, severity);
}

/** The types of rules in a file, which differ from those in code in their limits. */
type Written<Use extends Partial<AllowedUse>> = Omit<Use, "limits"> & { readonly limits?: WrittenLimits };
type WrittenRule = Written<AllowRule> | DenyRule | Written<AskRule>;

/** The parts of a policy that have the right shape; each rule with its index. */
interface WrittenPolicy {
  readonly rules: readonly (readonly [index: number, rule: WrittenRule])[];
  readonly default?: "deny" | Written<DefaultUse>;
  readonly untrusted?: readonly UntrustedResult[];
  readonly invariants: readonly Invariant[];
}

function soundPart(value: JsonValue, flaws: readonly Flaw[]): WrittenPolicy {
  // By the first one or two steps: there can be as many flaws as rules.
  const unsound = new Set(flaws.map(({ path }) => placeOf(path.slice(0, 2))));
  const members = new Set(flaws.map(({ path }) => placeOf(path.slice(0, 1))));
  const isSound = (member: string, index?: string): boolean => {
    if (unsound.has(placeOf([])) || unsound.has(placeOf([member]))) return false;
    return index === undefined ? !members.has(placeOf([member])) : !unsound.has(placeOf([member, index]));
  };
  const { rules, default: byDefault, invariants, untrusted } = isJsonObject(value) ? value : {};
  const entries = Array.isArray(rules) ? [...rules.entries()] : [];
  return {
    rules: entries.filter(([index]) => isSound("rules", String(index))) as unknown as WrittenPolicy["rules"],
    ...(byDefault !== undefined && isSound("default") && { default: byDefault as "deny" }),
    invariants: isSound("invariants") ? ((invariants ?? []) as unknown as readonly Invariant[]) : [],
    ...(untrusted !== undefined &&
      isSound("untrusted") && { untrusted: untrusted as unknown as readonly UntrustedResult[] }),
  };
}

function placeOf(path: readonly string[]): string {
  return JSON.stringify(path);
}

function readUse<Use extends Partial<AllowedUse>>(
  { limits, capabilities, ...use }: Written<Use>,
  file: string,
  path: readonly string[],
  flaws: Flaw[],
): Use {
  return {
    ...use,
    ...(limits && { limits: readLimits(limits, [...path, "limits"], flaws) }),
    ...(capabilities && { capabilities: besideFile(capabilities, file) }),
  } as unknown as Use;
}

/** Directories and files are relative to the file that names them. */
function besideFile({ fs, ...others }: RuleCapabilities, policyFile: string): RuleCapabilities {
  if (fs === undefined) return others;
  const beside = (path: string): string => resolve(dirname(policyFile), path);
  return {
    ...others,
    fs: fs.map((grant) => {
      if ("workspace" in grant) return grant;
      if ("directory" in grant) return { ...grant, directory: beside(grant.directory) };
      const within = grant.within === undefined ? {} : { within: beside(grant.within) };
      if (isFileTemplate(grant)) return { ...grant, ...within };
      return { ...grant, file: beside(grant.file), ...within };
    }),
  };
}

/** Returns the JSON Schema of a policy in a file. */
export function policyFileSchema(): JsonObject {
  return policySchema(WRITTEN_LIMITS, {
    invariants: described(
      INVARIANTS,
      "What must hold for every decision. `sandgate check` proves it. Default: none.",
    ),
  });
}
