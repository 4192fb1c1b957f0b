/**
 * A process that dispatches calls with a journal, and kills itself at one of its steps: before, amid and after each write
 * and each sync of the journal, and before and after each effect. Each effect is a line in a file.
 */
import { appendFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { CrashOrder } from "./order.ts";

const order = JSON.parse(process.argv[2] ?? "") as CrashOrder;
let steps = 0;

type Write = (bytes: Buffer, offset: number, length: number, at: number) => Promise<{ bytesWritten: number }>;

/** Ends the process if this is the step. */
function step(): void {
  if (++steps === order.killAt) process.kill(process.pid, "SIGKILL");
}

await using any = await open("/dev/null");
const handles = Object.getPrototypeOf(any) as { write: Write; datasync: () => Promise<void> };
const { write, datasync } = handles;
handles.write = async function (bytes, offset, length, at) {
  step();
  if (++steps === order.killAt) {
    await write.call(this, bytes, offset, Math.floor(length / 2), at);
    process.kill(process.pid, "SIGKILL");
  }
  const result = await write.call(this, bytes, offset, length, at);
  step();
  return result;
};
handles.datasync = async function () {
  await datasync.call(this);
  step();
};

const registry = new ToolRegistry();
registry.register({
  name: "append",
  description: "Appends a line.",
  sideEffects: "write",
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  host: async ({ id }: { id: string }) => {
    step();
    appendFileSync(join(order.directory, "effects"), `${id}\n`);
    step();
    return "done";
  },
} as never);
await using sandboxes = await openSandboxes();
const engine = new ToolDispatchEngine();
{
  await using journal = await openJournal({
    directory: join(order.directory, "journal"),
    key: order.key,
    maxBytes: 40_000,
  });
  const ctx = { registry, sandboxes, policy: new HostPolicy(), sessionId: "session", journal };
  let next = 0;
  const callAll = async (): Promise<void> => {
    while (next < order.calls) {
      const id = `call-${next++}`;
      await engine.dispatch({ id, name: "append", arguments: { id } }, ctx);
    }
  };
  await Promise.all(Array.from({ length: order.inFlight }, callAll));
}
console.log(steps);
