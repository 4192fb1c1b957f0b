/**
 * `npm run bench:durable-records`: how many invocations of Restate an operation of sessions costs, and how many records and
 * bytes it adds to Restate's log, as a node of this machine counts them. It measures no time, so that a busy machine changes
 * nothing. A number chooses how often each operation is done.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../src/sessions/session.ts";
import { hostTool } from "../test/engine/helpers.ts";
import { freePorts } from "../test/restate/free-ports.ts";
import { type RestateNode, startRestate } from "../test/restate/restate-nodes.ts";
import { openServer } from "../test/restate/sessions/servers.ts";

/** What a node has done. */
interface Work {
  readonly invocations: number;
  readonly records: number;
  readonly bytes: number;
}

const count = Number(process.argv[2] ?? "100");
/** What is written after the last result is there. */
const SETTLED_MS = 2_000;

await using restate = await startRestate();
const node = restate.nodes[0] as RestateNode;
const [port = 0] = await freePorts(1);
const tools = [
  hostTool(() => "saved", { name: "save", confirm: "auto" }),
  hostTool(() => "saved", { name: "ask", confirm: "always" }),
];
await using server = await openServer({ node, port, tools });

let idle: Work = { invocations: 0, records: 0, bytes: 0 };
idle = await perSecond(() => sleep(10_000));
console.log(`${"".padEnd(30)}invocations   records   bytes of the log`);
print("a second of an idle server", idle);
const sessions: Session[] = [];
await each("a session is opened", async () => void sessions.push(await server.open()));
for (const calls of [1, 2, 8]) await each(`a message of ${calls}`, (index) => message(index, calls));
server.onConfirmation((event) => {
  if (event.type !== "requested") return;
  const { id, digest } = event.confirmation;
  void server.answer(id, { decision: "allow", digest, by: "ann" });
});
await each("a message of 1, confirmed", (index) => message(index, 1, "ask"));
await each("a session is read", async (index) => void (await server.find(sessions[index]?.id ?? "")));
await each("a session is closed", async (index) => sessions[index]?.close());

async function message(index: number, calls: number, name = "save"): Promise<void> {
  const given = Array.from({ length: calls }, (_, call) => ({ id: `c${call}`, name, arguments: {} }));
  const results = await sessions[index]
    ?.turn({ id: `${name}${calls}` })
    .dispatchAll(given, { messageId: "m" });
  if (results?.every((result) => result?.success) !== true) throw new Error(JSON.stringify(results));
}

/** Prints what an operation costs, without what the server costs that is idle. */
async function each(name: string, run: (index: number) => Promise<void>): Promise<void> {
  const begun = performance.now();
  const before = await work();
  // Few at once, as at most 32 confirmations of a principal are open.
  for (let index = 0; index < count; index += 10) {
    await Promise.all(Array.from({ length: Math.min(10, count - index) }, (_, at) => run(index + at)));
  }
  await sleep(SETTLED_MS);
  const after = await work();
  const seconds = (performance.now() - begun) / 1_000;
  print(
    name,
    ofEach((key) => (after[key] - before[key] - idle[key] * seconds) / count),
  );
}

async function perSecond(run: () => Promise<unknown>): Promise<Work> {
  const begun = performance.now();
  const before = await work();
  await run();
  const after = await work();
  const seconds = (performance.now() - begun) / 1_000;
  return ofEach((key) => (after[key] - before[key]) / seconds);
}

function ofEach(value: (key: keyof Work) => number): Work {
  return { invocations: value("invocations"), records: value("records"), bytes: value("bytes") };
}

function print(name: string, { invocations, records, bytes }: Work): void {
  const shown = [invocations.toFixed(1).padStart(11), records.toFixed(1).padStart(10)];
  console.log(`${name.padEnd(30)}${shown.join("")}${bytes.toFixed(0).padStart(19)}`);
}

async function work(): Promise<Work> {
  const text = await (await fetch(node.metrics)).text();
  const sum = (name: string, having = ""): number =>
    text
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`) && line.includes(having))
      .reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
  return {
    invocations: sum("restate_invoker_invocation_tasks_total", 'status="started"'),
    records: sum("restate_bifrost_sequencer_committed_records_total"),
    bytes: sum("restate_bifrost_sequencer_committed_records_bytes_total"),
  };
}
