/**
 * `npm run bench:open-confirmations`: the memory that calls take while a person is asked about them, on a server and on a node
 * of Restate. A number chooses how many, at most 960: 32 of each principal. Needs `--expose-gc`.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, HostPolicy, openSandboxes, ToolRegistry } from "sandgate";
import { openRestate } from "sandgate/restate";
import { openSessions } from "sandgate/sessions";
import { freePorts } from "../../test/restate/free-ports.ts";
import { type RestateNode, startRestate } from "../../test/restate/restate-nodes.ts";

const PER_PRINCIPAL = 32;
const count = Math.min(Number(process.argv[2] ?? "640"), 960);

await using restate = await startRestate();
const node = restate.nodes[0] as RestateNode;
const [port] = (await freePorts(1)) as [number];
const durable = await openRestate({ ingress: node.ingress, admin: node.admin, listen: { port }, drainMs: 0 });
const registry = new ToolRegistry().register(
  defineTool({
    name: "note",
    description: "",
    inputSchema: { type: "object" },
    confirm: "always",
    host: ({ text }) => text,
  }),
);
const sandboxes = await openSandboxes();
const confirmations = { timeoutMs: 3_600_000 };
const sessions = await openSessions({
  registry,
  sandboxes,
  policy: new HostPolicy(),
  durable,
  confirmations,
});

/** Bytes that a process has in memory. */
function residentBytes(pid: number): number {
  const [, kib = "0"] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * 1_024;
}

async function memory(): Promise<{ readonly server: number; readonly heap: number; readonly node: number }> {
  globalThis.gc?.();
  await sleep(500);
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { server: rss, heap: heapUsed, node: residentBytes(node.pid) };
}

/** Asks about calls, and waits until all of them are open. */
async function ask(from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += PER_PRINCIPAL) {
    const session = await sessions.open({ principal: { id: `user-${first}`, kind: "user" } });
    for (let index = first; index < Math.min(first + PER_PRINCIPAL, to); index++) {
      const call = { id: "c", name: "note", arguments: { text: "x".repeat(200) } };
      session
        .turn()
        .dispatch(call)
        .catch(() => {});
    }
  }
  while (sessions.openConfirmations().length < to) await sleep(100);
}

await ask(0, PER_PRINCIPAL);
const before = await memory();
await ask(PER_PRINCIPAL, PER_PRINCIPAL + count);
const open = await memory();
// Restate suspends what waits for more than a minute: it needs no connection and no memory of the server then.
await sleep(90_000);
const later = await memory();
const each = (bytes: number): string => `${(bytes / count / 1_024).toFixed(1)} KiB`;
for (const [name, now] of [
  ["at once", open],
  ["after 90 s", later],
] as const) {
  console.log(
    `${count} open confirmations, ${name}: ${each(now.heap - before.heap)} of the heap of the server each, ${each(now.server - before.server)} of its memory, ${each(now.node - before.node)} of the node's`,
  );
}
process.exit(0);
