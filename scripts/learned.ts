/**
 * `npm run test:learned -- FOLDER [--verbose]`: learns a policy from 70 % of the sessions without an attack that
 * `FOLDER/agentdojo` and `FOLDER/agentdyn` have, and prints what it allows of the others, and of the sessions with an attack.
 * Sessions are chosen by themselves, and by their tasks: then no task that is tested was learnt. `--verbose` prints the rules.
 */
import { hash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openJournal } from "../src/journal/journal.ts";
import { type LearnedPolicy, learnPolicy } from "../src/journal/read/learn-policy.ts";
import type { PolicyRule } from "../src/policy/rule/rule.ts";
import { RulePolicy } from "../src/policy/rule/rule-policy.ts";
import { openSandboxes, type Sandboxes } from "../src/sandboxes/open-sandboxes.ts";
import { type HijackedRun, type RecordedRuns, type Run, readRuns } from "../test/hijack/recorded-runs.ts";
import { Replay } from "../test/hijack/replay.ts";
import type { RecordedCall } from "../test/hijack/traces.ts";

const LEARNT_SHARE = 0.7;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { verbose: { type: "boolean", default: false } },
});
const [folder] = positionals;
if (folder === undefined) {
  console.error("usage: npm run test:learned -- FOLDER [--verbose]");
  process.exit(2);
}
await using sandboxes = await openSandboxes();
console.log(
  "| suite | chosen by | learnt from | rules | good calls | allowed | tasks quiet | hijacks | complete |",
);
console.log("|---|---|--:|--:|--:|--:|--:|--:|--:|");
for (const suite of await readRuns(folder)) {
  for (const by of ["session", "task"] as const) {
    const isLearnt = (run: Run, index: number): boolean =>
      Number.parseInt(hash("sha256", by === "task" ? run.task : `${index} ${run.task}`).slice(0, 8), 16) /
        2 ** 32 <
      LEARNT_SHARE;
    const learnt = suite.benign.filter(isLearnt);
    const tested = suite.benign.filter((run, index) => !isLearnt(run, index));
    const learned = await learn(suite, learnt, sandboxes);
    if (values.verbose) explain(learned);
    const { rules, untrusted } = learned;
    const policy = policyOf(
      suite,
      rules.map(({ rule }) => rule),
      untrusted,
    );
    await using replay = await Replay.open(suite, policy, sandboxes);
    const [good, quiet] = await allowedIn(replay, tested);
    const complete = await completeIn(replay, suite.hijacked);
    await using control = await Replay.open(suite, allowing(suite), sandboxes);
    if ((await completeIn(control, suite.hijacked)) !== suite.hijacked.length)
      throw new Error(`an attack of '${suite.name}' does not complete even if everything is allowed`);
    const calls = tested.reduce((sum, run) => sum + run.calls.length, 0);
    const cells = [
      `${suite.name} | ${by}`,
      `${learnt.length} sessions`,
      rules.length,
      calls,
      share(good, calls),
      share(quiet, tested.length),
      suite.hijacked.length,
      share(complete, suite.hijacked.length),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

/** Plays sessions under a policy that allows everything, with a journal, and learns from it. */
async function learn(suite: RecordedRuns, runs: readonly Run[], opened: Sandboxes): Promise<LearnedPolicy> {
  const directory = await mkdtemp(join(tmpdir(), "sandgate-learned-"));
  try {
    const policy = allowing(suite);
    {
      await using journal = await openJournal({ directory, sync: "none", sources: true });
      await using replay = await Replay.open(suite, policy, opened, journal);
      await journal.keep(policy.policy, replay.subjects);
      for (const { userText, calls } of runs) await replay.run(userText, calls, []);
    }
    return await learnPolicy({ places: [directory], exclude: new Set() });
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Returns how many calls were allowed without a question, and in how many sessions all of them. */
async function allowedIn(
  replay: Replay,
  runs: readonly Run[],
): Promise<readonly [calls: number, runs: number]> {
  let [good, quiet] = [0, 0];
  for (const { userText, calls } of runs) {
    const { task } = await replay.run(userText, calls, []);
    good += calls.length - task.asked.length;
    if (task.asked.length === 0) quiet++;
  }
  return [good, quiet];
}

/** Returns how many attacks are complete: a person is asked about none of the attacker's calls. */
async function completeIn(replay: Replay, runs: readonly HijackedRun[]): Promise<number> {
  let complete = 0;
  for (const { userText, calls, attack } of runs) {
    const { task } = await replay.run(userText, calls, []);
    const wanted = new Set(attack);
    if (!task.askedCalls.some((index) => wanted.has(calls[index] as RecordedCall))) complete++;
  }
  return complete;
}

function allowing(suite: RecordedRuns): Parameters<typeof Replay.open>[1] {
  return policyOf(
    suite,
    [{ name: "all", tools: ["*"], effect: "allow", sandboxes: ["host"] }],
    suite.untrusted,
  );
}

/** A person is asked about what no rule allows. */
function policyOf(
  { sideEffects }: RecordedRuns,
  rules: readonly PolicyRule[],
  untrusted: RecordedRuns["untrusted"] = [],
): Parameters<typeof Replay.open>[1] {
  const policy = new RulePolicy({ rules, untrusted, default: { effect: "ask", sandboxes: ["host"] } });
  return { sideEffects, policy, untrusted, warnings: [] };
}

function share(part: number, whole: number): string {
  return `${part} (${whole === 0 ? 0 : Math.round((part / whole) * 1_000) / 10} %)`;
}

function explain({ rules, calls, left }: LearnedPolicy): void {
  for (const { rule, calls: count } of rules) console.log(`  ${count} ${JSON.stringify(rule)}`);
  console.log(`  ${calls} calls, left: ${JSON.stringify([...left])}`);
}
