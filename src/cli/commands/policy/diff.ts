import { diffPolicies } from "../../../journal/diff/diff-policies.ts";
import type { ChangedCalls, PolicyDiff } from "../../../journal/diff/policy-diff.ts";
import { DECISION_CHANGES, type DecisionChange } from "../../../policy/compare-decisions.ts";
import { joinShown, type ShownText, shown } from "../../../rendering/shown.ts";
import { showProgress } from "../../progress.ts";
import { EXIT_OK, EXIT_WIDER, type ExitCode, print, type Terminal } from "../../terminal.ts";
import { loadAnyPolicy } from "./load.ts";

/** The number of combinations of rules that are printed for each change. */
const MAX_SHOWN = 50;

/** Options of `sandgate policy diff`. */
interface DiffOptions {
  /** Policy files, or configs. */
  readonly before: string;
  readonly after: string;
  /** Directories of journals, or files of them. At least one. */
  readonly journals: readonly string[];
  readonly acceptsWider: boolean;
}

/**
 * Decides by two policies on the recorded calls of journals, and prints how their decisions differ. The exit code is 3
 * if the new policy permits more.
 *
 * @throws {ConfigError} if a policy is invalid.
 * @throws {JournalError} if a journal cannot be read.
 */
export async function diff(
  { before, after, journals, acceptsWider }: DiffOptions,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const policies = {
    before: await loadAnyPolicy(before, journals),
    after: await loadAnyPolicy(after, journals),
  };
  const progress = showProgress({ stderr }, "deciding on the recorded calls");
  const found = await diffPolicies({
    ...policies,
    directories: journals,
  }).finally(() => progress[Symbol.dispose]());
  await print(stdout, joinShown(describe(found), "\n"));
  const isWider = found.changes.some(({ change }) => DECISION_CHANGES[change] === "wider");
  return isWider && !acceptsWider ? EXIT_WIDER : EXIT_OK;
}

function describe({ same, different, changes, undecided, undecidable }: PolicyDiff): readonly ShownText[] {
  const kinds = [...new Set(changes.map(({ change }) => change))];
  return [
    shown`${same} calls are decided as before, ${different} differently`,
    ...kinds.flatMap((kind) =>
      describeKind(
        kind,
        changes.filter(({ change }) => change === kind),
      ),
    ),
    ...(undecided > 0 ? [shown`${undecided} calls failed before the policy decided`] : []),
    ...Array.from(undecidable, ([cause, count]) => shown`${count} calls cannot be decided again: ${cause}`),
  ];
}

function describeKind(kind: DecisionChange, groups: readonly ChangedCalls[]): readonly ShownText[] {
  const calls = groups.reduce((sum, { count }) => sum + count, 0);
  const more = groups.length - MAX_SHOWN;
  const warning = DECISION_CHANGES[kind] === "wider" ? ", which permits more" : "";
  return [
    shown`${kind}${warning}: ${calls} calls`,
    ...groups.slice(0, MAX_SHOWN).map(describeGroup),
    ...(more > 0 ? [shown`  and ${more} more combinations of rules`] : []),
  ];
}

function describeGroup({ before, after, count, witness }: ChangedCalls): ShownText {
  const { directory, seq, callId, tool } = witness;
  return shown`  ${count} by ${namesOf(after)}, before by ${namesOf(before)}; such as call ${callId} of ${tool}, record ${seq} of ${directory}`;
}

function namesOf(rules: readonly string[]): string {
  return rules.length === 0 ? "no rule" : rules.map((rule) => `'${rule}'`).join(" and ");
}
