import { dirname, join } from "node:path";
import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import type { Flaw } from "../../../config/shape.ts";
import { type ConfigPath, readConfigFile } from "../../../config/source.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import type { TrackedFields } from "../../../policy/call-history.ts";
import { readLimits, WRITTEN_NAMES } from "../../../policy/file/written-limits.ts";
import { formatLimit, type LimitName, type ResourceLimits } from "../../../policy/grant/limits.ts";
import { checkDecision, type PolicyDecision, type PolicyRequest } from "../../../policy/policy.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import type { SandboxMode } from "../../../tool/sandbox-mode.ts";
import { CONFIG } from "../../command.ts";
import { POLICY_CASES } from "../../config/load-config.ts";
import { findConfig } from "../../found-config.ts";
import {
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  showProblem,
  type Terminal,
} from "../../terminal.ts";
import { CASES_SHAPE, requestOf, type WrittenCase } from "./case-request.ts";
import { loadConfiguredPolicy } from "./load.ts";

/** A case of a policy test that can be decided. */
interface PolicyCase {
  readonly name: string;
  readonly request: PolicyRequest;
  readonly expect: "allow" | "deny" | "ask";
  /** Default: any. */
  readonly sandbox: SandboxMode | undefined;
  readonly limits: ResourceLimits;
  /** A difference from what a member of the case expects, with its position. */
  problem(member: "expect" | "sandbox" | "limits", message: string): ConfigProblem;
}

/** Options of `sandgate policy test`. */
interface TestOptions {
  /** Default: `sandgate.policy-test.yaml` beside the config. */
  readonly cases: string | undefined;
  /** Default: `sandgate.yaml` beside the cases, or in the working directory. */
  readonly config: string | undefined;
  /** Whether a config that was found is used without a question. */
  readonly isApproved: boolean;
  /** A policy file. Default: the policy of the config. */
  readonly policy?: string | undefined;
}

/**
 * Decides on the calls of a file, and prints each difference from what the file expects. The exit code is 1 if there is
 * one.
 *
 * @throws {ConfigError} if the config or the file is invalid.
 */
export async function testPolicy(
  { cases: given, config: givenConfig, isApproved, policy: givenPolicy }: TestOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const beside = given === undefined ? CONFIG.value : join(dirname(given), CONFIG.value);
  const config = givenConfig ?? (await findConfig(beside, "loads", isApproved, terminal));
  const file = given ?? join(dirname(config), POLICY_CASES);
  const { policy, registry } = await loadConfiguredPolicy(config, terminal, givenPolicy);
  const cases = await loadCases(file, registry, policy.trackedFields);
  const differences: ConfigProblem[] = [];
  let different = 0;
  for (const each of cases) {
    const found = differencesOf(each, checkDecision(await policy.check(each.request)));
    if (found.length > 0) different++;
    differences.push(...found);
  }
  const summary =
    different === 0
      ? shown`${cases.length} cases are decided as expected`
      : shown`${different} of ${cases.length} cases are decided differently`;
  await print(terminal.stdout, joinShown([...differences.map(showProblem), summary], "\n"));
  return different === 0 ? EXIT_OK : EXIT_TOOL_FAILED;
}

/** Compares a decision with what a case expects. */
function differencesOf(expected: PolicyCase, decision: PolicyDecision): readonly ConfigProblem[] {
  const { name, expect, sandbox, limits } = expected;
  if (decision.decision !== expect) {
    const message = `'${name}': expected ${expect}, but the policy decides ${describe(decision)}`;
    return [expected.problem("expect", message)];
  }
  const grant = decision.decision === "deny" ? undefined : decision.grant;
  const differences: ConfigProblem[] = [];
  if (sandbox !== undefined && grant?.sandbox !== sandbox) {
    const message = `'${name}': expected the sandbox ${sandbox}, but the policy grants ${grant?.sandbox ?? "nothing"}`;
    differences.push(expected.problem("sandbox", message));
  }
  for (const limit of Object.keys(limits) as LimitName[]) {
    const [wanted, granted] = [limits[limit], grant?.limits[limit]];
    if (wanted === undefined || wanted === granted) continue;
    const found = granted === undefined ? "no such limit" : formatLimit(limit, granted);
    const message = `'${name}': expected ${WRITTEN_NAMES[limit]} ${formatLimit(limit, wanted)}, but the policy grants ${found}`;
    differences.push(expected.problem("limits", message));
  }
  return differences;
}

function describe(decision: PolicyDecision): string {
  if (decision.decision === "deny") {
    const near = (decision.near ?? []).map(({ rule, missed }) => `'${rule}' missed ${missed}`).join(", ");
    return `deny: ${decision.reason}${near === "" ? "" : ` (${near})`}`;
  }
  const rules = (decision.rules ?? []).map((rule) => `'${rule}'`).join(", ");
  return `${decision.decision} by ${rules === "" ? "a policy in code" : rules}`;
}

/**
 * Loads the cases of a policy test.
 *
 * @param registry The tools that the calls name.
 * @param tracked What the policy tracks: see `RuntimePolicy.trackedFields`.
 * @throws {ConfigError} with every problem: the file cannot be read or is not valid, or a call could not be made.
 */
async function loadCases(
  file: string,
  registry: ToolRegistry,
  tracked: TrackedFields | undefined,
): Promise<readonly PolicyCase[]> {
  const source = await readConfigFile(file);
  const problems: ConfigProblem[] = [];
  const entry = source.read<readonly WrittenCase[]>(CASES_SHAPE, problems);
  if (entry === undefined) throw new ConfigError(problems);
  const cases: PolicyCase[] = [];
  for (const [index, written] of entry.value.entries()) {
    const { name = `case ${index + 1}`, expect, sandbox, limits: writtenLimits = {} } = written;
    const problemAt = (path: ConfigPath, message: string): ConfigProblem =>
      entry.problem([index, ...path], message);
    const flaws: Flaw[] = [];
    const limits = readLimits(writtenLimits, ["limits"], flaws);
    if (expect === "deny" && (sandbox !== undefined || written.limits !== undefined)) {
      const message = "a denied call is granted no sandbox and no limits";
      flaws.push({ path: [sandbox === undefined ? "limits" : "sandbox"], at: "key", message });
    }
    const read = await requestOf(written, { registry, tracked, directory: dirname(file) });
    problems.push(
      ...flaws.map(({ path, message, at }) => entry.problem([index, ...path], message, "error", at)),
    );
    if ("flaws" in read) {
      problems.push(...read.flaws.map(({ path, message }) => problemAt(path, message)));
      continue;
    }
    const problem: PolicyCase["problem"] = (member, message) => problemAt([member], message);
    cases.push({ name, request: read.request, expect, sandbox, limits, problem });
  }
  problems.sort((a, b) => a.line - b.line || a.column - b.column);
  if (problems.length > 0) throw new ConfigError(problems);
  return cases;
}
