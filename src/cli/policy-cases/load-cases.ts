import { dirname } from "node:path";
import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import { readConfigFile } from "../../config/read-file.ts";
import type { Flaw } from "../../config/shape.ts";
import type { ConfigPath } from "../../config/source.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import { readLimits } from "../../policy/file/written-limits.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { TrackedFields } from "../../policy/history/value-provenance.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import { CASES_SHAPE, type WrittenCase } from "./case-shape.ts";
import { requestOf } from "./request.ts";

/** A case of a policy test that can be decided. */
export interface PolicyCase {
  readonly name: string;
  readonly request: PolicyRequest;
  readonly expect: "allow" | "deny" | "ask";
  /** Default: any. */
  readonly sandbox: SandboxMode | undefined;
  readonly limits: ResourceLimits;
  /** A difference from what a member of the case expects, with its position. */
  problem(member: "expect" | "sandbox" | "limits", message: string): ConfigProblem;
}

/**
 * Loads the cases of a policy test.
 *
 * @param registry The tools that the calls name.
 * @param tracked What the policy tracks: see `RuntimePolicy.trackedFields`.
 * @throws {ConfigError} with every problem: the file cannot be read or is not valid, or a call could not be made.
 */
export async function loadCases(
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
