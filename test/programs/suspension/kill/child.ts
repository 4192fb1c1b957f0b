/**
 * A process with the sessions of many programs. It says when all of them wait, and how many those are, and answers one question of each for each
 * line that it reads. At the end it writes the results, and exits.
 */
import { appendFileSync, writeFileSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tool } from "../../../../src/engine/tool.ts";
import { RulePolicy } from "../../../../src/policy/rule/rule-policy.ts";
import { Ingress } from "../../../../src/restate/connection/ingress.ts";
import { RestateSessionStore } from "../../../../src/restate/store/session-store.ts";
import { RestateSuspensionStore } from "../../../../src/restate/store/suspension-store.ts";
import type { Confirmation } from "../../../../src/sessions/confirmations/confirmation.ts";
import { openSessions } from "../../../../src/sessions/sessions.ts";
import { openSetting, program, type SettingStores } from "../setting.ts";
import { isDenied, numbers, PROGRAM, planOf } from "./plan.ts";

const [, , folder = "", first = "0", count = "0", life = "0"] = process.argv;
const seeds = Array.from({ length: Number(count) }, (_, index) => Number(first) + index);
const choose = numbers(Number(first) * 1_000 + Number(life));

/** The stores on Restate, if the parent has started a node. The folder has a store of its own there. */
function openRestate(): SettingStores | undefined {
  const url = process.env["SANDGATE_RESTATE"];
  if (url === undefined) return undefined;
  const options = { ingress: new Ingress({ urls: [url] }), prefix: `${basename(folder)}/` };
  return { sessions: new RestateSessionStore(options), programs: new RestateSuspensionStore(options) };
}

function tool(name: string, sideEffects: "write" | "read"): Tool {
  return {
    name,
    description: "",
    inputSchema: { type: "object" },
    sideEffects,
    host: ({ key, amount }: { readonly key: string; readonly amount: number }, { sessionId, callId }) => {
      if (sideEffects === "write") appendFileSync(join(folder, "effects"), `${sessionId} ${callId} ${key}\n`);
      return amount;
    },
  } as Tool;
}

const policy = new RulePolicy({
  rules: [
    {
      tools: ["program"],
      effect: "allow",
      sandboxes: ["quickjs"],
      capabilities: { tools: ["pay", "read"] },
      limits: { nestedCalls: 32 },
    },
    { tools: ["pay"], effect: "ask", question: "Pay?", sandboxes: ["host"] },
    { tools: ["read"], effect: "allow", sandboxes: ["host"] },
  ],
});
const tools = [program(PROGRAM), tool("pay", "write"), tool("read", "read")];
const stores = openRestate();
const { options, suspensions } = await openSetting(folder, tools, { policy, ...(stores && { stores }) });
const sessions = await openSessions({
  ...options,
  confirmations: { ...options.confirmations, timeoutMs: 3_600_000 },
});
const results = new Map<string, unknown>();
if (life === "0") {
  for (const seed of seeds) {
    const principal = { id: `user-${seed}`, kind: "user" } as const;
    const session = await sessions.open({ id: `s${seed}`, principal });
    const call = { id: "c1", name: "program", arguments: { plan: planOf(seed) as never } };
    await session.turn({ id: "t1" }).accept([call], { messageId: "m1" });
  }
}

/** Reads the results that are kept. */
async function readResults(): Promise<void> {
  for (const seed of seeds) {
    if (results.has(`s${seed}`)) continue;
    const turn = await sessions.get(`s${seed}`)?.findTurn("t1");
    const [message] = (await turn?.messages()) ?? [];
    const execution = message?.executions[0];
    if (execution !== undefined)
      results.set(`s${seed}`, { output: execution.output, error: execution.error });
  }
}

/** Waits until every program has ended, or waits for a person and is suspended. Returns how many wait. */
async function settle(): Promise<number> {
  for (;;) {
    const waiting = (await suspensions.list()).filter(({ state }) => state === "waiting");
    const asked = new Set(
      sessions.openConfirmations().map(({ sessionId, callId }) => `${sessionId} ${callId}`),
    );
    await readResults();
    // A program stays suspended while it goes on, as long as a person is asked about one of its calls.
    const isQuiet = waiting.every(
      ({ sessionId, callId, open }) =>
        open.length > 0 && open.every(({ number }) => asked.has(`${sessionId} ${callId}/${number}`)),
    );
    if (isQuiet && results.size + waiting.length === seeds.length) return waiting.length;
    await sleep(5);
  }
}

async function answerOneOfEach(): Promise<void> {
  const bySession = Map.groupBy(sessions.openConfirmations(), ({ sessionId }) => sessionId);
  for (const confirmations of bySession.values())
    await answer(confirmations[choose(confirmations.length)] as Confirmation);
}

async function answer({ id, digest, sessionId, shown }: Confirmation): Promise<void> {
  const { key } = JSON.parse("arguments" in shown ? shown.arguments : "{}") as { key: string };
  const decision = isDenied(Number(sessionId.slice(1)), key) ? "deny" : "allow";
  await sessions.answer(id, { decision, digest, by: "eve" });
}

async function next(): Promise<void> {
  const waiting = await settle();
  if (waiting > 0) {
    writeSync(1, `waiting ${waiting}\n`);
    return;
  }
  writeFileSync(join(folder, "results.json"), JSON.stringify(Object.fromEntries([...results].sort())));
  writeSync(1, "ended\n");
  process.exit(0);
}

createInterface(process.stdin).on("line", () => void answerOneOfEach().then(next));
await next();
