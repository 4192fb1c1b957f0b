/**
 * A process whose journal can no longer be written from some time on: it dispatches calls before and after, and prints
 * what became of them.
 */
import { appendFileSync, closeSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { archiveJournal } from "../../../src/journal/archive-journal.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { verifyJournal } from "../../../src/journal/verify/verify-journal.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { DiskOrder, DiskReport } from "./order.ts";

const { directory, effects, failure } = JSON.parse(process.argv[2] ?? "") as DiskOrder;
const filler = join(dirname(directory), "filler");
const slow = Promise.withResolvers<string>();
const healthy = Promise.withResolvers<void>();

const registry = new ToolRegistry();
const inputSchema = { type: "object", properties: {} } as const;
const append = (name: string) => async () => {
  appendFileSync(effects, `${name}\n`);
  return "done";
};
registry.register({
  name: "write",
  description: "",
  sideEffects: "write",
  inputSchema,
  host: append("write"),
} as never);
registry.register({
  name: "read",
  description: "",
  sideEffects: "read",
  inputSchema,
  host: append("read"),
} as never);
registry.register({
  name: "slow",
  description: "",
  sideEffects: "write",
  inputSchema,
  host: () => slow.promise,
} as never);
await using sandboxes = await openSandboxes();
const engine = new ToolDispatchEngine();
const journal = await openJournal({
  directory,
  // Some files are older than the one that is written.
  ...(failure === "full disk" && { maxBytes: 4_096 }),
  onNotice: ({ kind }) => {
    if (kind === "healthy") healthy.resolve();
  },
});
const ctx = { registry, sandboxes, policy: new HostPolicy(), sessionId: "session", journal };
let count = 0;
let ran = 0;
const call = async (name: string): Promise<ToolExecution> => {
  const execution = await engine.dispatch({ id: `call-${count++}`, name, arguments: {} }, ctx);
  if (execution?.success && name !== "slow") ran++;
  if (execution === null) throw new Error("the call was aborted");
  return execution;
};

const before = [await call("write"), await call("read")];
if (failure === "full disk") for (let i = 0; i < 12; i++) await call("write");
const running = call("slow");
await journal.flush();
await fail();
const after = [await call("write"), await call("read"), await call("write")];
slow.resolve("done");
const interrupted = await running;
const problem = journal.problem ?? "";
let healed: ToolExecution | undefined;
let waiting: number | undefined;
if (failure === "closed file") {
  // The journal tries to write in this time, too.
  const until = performance.now() + 3_000;
  while (performance.now() < until || journal.lost === 0) for (let i = 0; i < 500; i++) await call("nowhere");
  waiting = journal.backlog.records;
}
if (failure === "full disk") {
  await archiveJournal({ directory, to: join(dirname(effects), "archive"), before: Date.now() });
  // The journal's own timer does not keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  await healthy.promise;
  clearInterval(alive);
  healed = await call("write");
}
await journal.close().catch(() => {});
const report: DiskReport = {
  before: before.map(({ success }) => success),
  after: after.map(({ error }) => error),
  ran,
  effects: readFileSync(effects, "utf8").trim().split("\n"),
  problem,
  lost: journal.lost,
  ...(interrupted.receipt.recorded === false && { recorded: false }),
  ...(waiting !== undefined && { waiting }),
  ...(healed && { healed: healed.success }),
  verified: (await verifyJournal({ directory })).contradiction ?? "sound",
};
console.log(JSON.stringify(report));

async function fail(): Promise<void> {
  if (failure === "closed file") closeSync(journalFd());
  if (failure === "read-only file system") writeFileSync(process.env["TRIGGER"] ?? "", "1");
  if (failure === "full disk") fill();
  // The records themselves fill what is left.
  if (failure === "file size" || failure === "full disk")
    while (journal.problem === undefined) await call("write");
}

function journalFd(): number {
  const fds = readdirSync("/proc/self/fd").map(Number);
  return fds.find((fd) => linkOf(fd).endsWith(".jsonl")) ?? -1;
}

function linkOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return "";
  }
}

function fill(): void {
  for (let size = 65_536; size > 0; ) {
    try {
      appendFileSync(filler, Buffer.alloc(size));
    } catch {
      size = Math.floor(size / 2);
    }
  }
}
