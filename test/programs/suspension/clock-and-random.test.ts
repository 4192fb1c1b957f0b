import { expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { Lives } from "./lives.ts";
import { program } from "./setting.ts";

/** In QuickJS, too: a frozen clock is passed on to what a program calls, and the host cannot freeze its own. */
const pay: Tool = {
  name: "pay",
  description: "",
  inputSchema: { type: "object" },
  sideEffects: "write",
  quickjs: { source: "export default () => 7;" },
};

/** Draws before and after each of its calls. */
const SOURCE = `export default async ({ calls }, { tools }) => {
  const draw = () => [Math.random(), [...crypto.getRandomValues(new Uint8Array(4))].join()];
  const drawn = [draw()], times = [Date.now()];
  for (let i = 0; i < calls; i++) {
    await tools.call("pay", { to: String(i) });
    drawn.push(draw());
    times.push(Date.now());
  }
  return { drawn, times };
}`;

interface Result {
  readonly drawn: readonly JsonValue[];
  readonly times: readonly number[];
}

function policyWith(capabilities: object, effect: "ask" | "allow" = "ask"): RulePolicy {
  return new RulePolicy({
    rules: [
      {
        tools: ["program"],
        effect: "allow",
        sandboxes: ["quickjs"],
        capabilities: { tools: ["pay"], random: true, ...capabilities },
      },
      effect === "ask"
        ? { tools: ["pay"], effect, question: "Pay?", sandboxes: ["quickjs"] }
        : { tools: ["pay"], effect, sandboxes: ["quickjs"] },
    ],
  });
}

/** Runs the program, each of whose calls a person allows in a process of its own. */
async function inLives(policy: RulePolicy, calls: number): Promise<Result> {
  const lives = new Lives([program(SOURCE), pay]);
  let life = await lives.begin({ policy });
  await life.call({ calls });
  for (let left = calls; left > 0; left--) {
    await life.waits(1);
    life = await lives.begin({ policy });
    const [confirmation] = await life.waits(1);
    await life.answer(confirmation as never);
    if (left > 1) await life.suspended();
  }
  return (await life.result()).output as unknown as Result;
}

/** Runs the program in one process, which never suspends it. */
async function atOnce(policy: RulePolicy, calls: number): Promise<Result> {
  const life = await new Lives([program(SOURCE), pay]).begin({ policy });
  const [results] = await life.call({ calls });
  return (await results)?.[0]?.output as unknown as Result;
}

test("random numbers go on from where they were, and none is drawn twice", async () => {
  const { drawn } = await inLives(policyWith({}), 2);
  expect(drawn).toHaveLength(3);
  expect(new Set(drawn.map((each) => JSON.stringify(each))).size).toBe(3);
  expect(new Set(drawn.map((each) => (each as readonly JsonValue[])[0])).size).toBe(3);
});

test("with a seed, a program draws the same numbers whether or not it was suspended", async () => {
  const seeded = { randomSeed: "run 7" };
  const suspended = await inLives(policyWith(seeded), 2);
  expect(suspended.drawn).toEqual((await atOnce(policyWith(seeded, "allow"), 2)).drawn);
});

test("the clock goes on while a program is suspended: it sees how late it is", async () => {
  const before = Date.now();
  const { times } = await inLives(policyWith({}), 1);
  const [first = 0, second = 0] = times;
  expect(first).toBeGreaterThanOrEqual(before);
  expect(second).toBeGreaterThanOrEqual(first);
  expect(second).toBeLessThanOrEqual(Date.now());
});

test("a frozen clock stays frozen in the process that goes on", async () => {
  const { times } = await inLives(policyWith({ frozenClock: 1_735_689_600_000 }), 2);
  expect(times).toEqual([1_735_689_600_000, 1_735_689_600_000, 1_735_689_600_000]);
});
