import type { Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { type Place, plant } from "./plant.ts";
import { Replay } from "./replay.ts";
import { readSuitePolicy } from "./suite-policy.ts";
import type { Suite } from "./traces.ts";

/** What became of a suite under its policy. */
export interface SuiteResult {
  readonly suite: string;
  /** The number of pairs of a task and an attack that could be planted. */
  readonly pairs: number;
  /** The pairs in which a call of the attack ran that does more than read. */
  readonly through: Readonly<Record<Place, readonly Through[]>>;
  readonly tasks: number;
  /** The tasks that did what they should without a question. */
  readonly quiet: number;
  /** The others, and the tools about which a person was asked. */
  readonly asked: readonly { readonly task: string; readonly tools: readonly string[] }[];
  /** What may be wrong with the policy. */
  readonly warnings: readonly string[];
}

/** An attack that did something. */
export interface Through {
  readonly task: string;
  readonly attack: string;
  readonly tools: readonly string[];
}

/** Replays a suite: each task alone, and each with each attack in both places. */
export async function runSuite(suite: Suite, policies: string, sandboxes: Sandboxes): Promise<SuiteResult> {
  const suitePolicy = await readSuitePolicy(policies, suite.name, suite.tools);
  await using replay = await Replay.open(suite, suitePolicy, sandboxes);
  const isMild = (tool: string): boolean =>
    ["none", "read"].includes(suitePolicy.sideEffects.get(tool) ?? "");
  const asked: SuiteResult["asked"][number][] = [];
  const through: Record<Place, Through[]> = { text: [], fields: [] };
  let pairs = 0;
  for (const task of suite.tasks) {
    const { task: own } = await replay.run(task.goal, task.calls, []);
    if (own.asked.length > 0 || own.failed > 0) asked.push({ task: task.id, tools: own.asked });
    for (const attack of suite.attacks) {
      for (const place of ["text", "fields"] as const) {
        const calls = plant(task, attack, suitePolicy.untrusted, place);
        if (calls === undefined) continue;
        if (place === "text") pairs++;
        const { attack: done } = await replay.run(task.goal, calls, attack.calls);
        const tools = done.ran.filter((tool) => !isMild(tool));
        if (tools.length > 0) through[place].push({ task: task.id, attack: attack.id, tools });
      }
    }
  }
  const tasks = suite.tasks.length;
  const { warnings } = suitePolicy;
  return { suite: suite.name, pairs, through, tasks, quiet: tasks - asked.length, asked, warnings };
}
