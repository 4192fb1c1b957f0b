import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
// From the sources, as the package exports no way to go on with one call.
import { EventStream } from "../../src/engine/call/events.ts";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { dispatchCall, ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { MemorySuspensionStore } from "../../src/programs/stores/recorded-store.ts";
import { SqliteSuspensionStore } from "../../src/programs/stores/sqlite-store.ts";
import type {
  StoredCall,
  StoredProgram,
  SuspensionStore,
} from "../../src/programs/stores/suspension-store.ts";
import { openSuspensions, type Suspensions } from "../../src/programs/suspension/suspensions.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { DATA_END, HEAP_START } from "../../src/sandboxes/quickjs/engine/engine-binary.ts";
import { BLOCK_BYTES, type SuspendedGuest } from "../../src/sandboxes/quickjs/engine/suspended-guest.ts";
import { decompressGuest, readTemplate } from "../../src/sandboxes/quickjs/suspension/waiting-guest.ts";
import type { OpenCase } from "../harness/case.ts";

const SOURCE = `export default async (input, { tools, log }) => {
  const kept = new Map([["a", { deep: [1, 2, 3] }]]);
  const paid = await tools.call("pay", {});
  log("goes on");
  return paid + kept.get("a").deep.length;
}`;
const POLICY = new RulePolicy({
  rules: [
    { tools: ["program"], effect: "allow", sandboxes: ["quickjs"], capabilities: { tools: ["pay"] } },
    { tools: ["pay"], effect: "ask", question: "Pay?", sandboxes: ["host"] },
  ],
});
const KEYS = [{ id: "k1", key: new Uint8Array(32).fill(7) }];
const CALL = { id: "c", name: "program", arguments: {} };
const MEMORY_BYTES = 64 * 1_024 * 1_024;

/** A program whose only call has its result, and which has not gone on with it. */
interface Ready {
  readonly program: StoredProgram;
  readonly calls: readonly StoredCall[];
  readonly template: Uint8Array;
}

/** A store from which no program can go on. */
class HoldingStore extends MemorySuspensionStore {
  readonly #taken = Promise.withResolvers<StoredProgram>();
  readonly taken: Promise<StoredProgram> = this.#taken.promise;

  override take(id: string): never {
    this.#taken.resolve(this.get(id) as StoredProgram);
    throw new Error("held");
  }
}

/**
 * Opens a case in which a stored program goes on, whose call has its result: from its dispatch until its first line after
 * that is there. Its process has its template. What follows is not timed: its end, and that it is removed.
 */
export async function openResume(kept: "memory" | "sqlite"): Promise<OpenCase> {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-bench-"));
  const registry = new ToolRegistry();
  const common = { description: "", inputSchema: { type: "object" }, sideEffects: "write" } as const;
  registry.register({ ...common, name: "program", quickjs: { source: SOURCE } } as Tool);
  registry.register({ ...common, name: "pay", host: () => 1 } as Tool);
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const events = new EventStream();
  const context = (suspensions: Suspensions) => ({
    registry,
    sandboxes,
    policy: POLICY,
    sessionId: "bench",
    suspensions,
    events,
    confirm: async () => ({ decision: "allow", by: "eve" }) as const,
  });

  const ready = await makeReady(context);
  const store: SuspensionStore =
    kept === "sqlite" ? new SqliteSuspensionStore(join(folder, "p.db")) : new MemorySuspensionStore();
  await store.addTemplate(ready.program.template, ready.template);
  const suspensions = openSuspensions({ keys: KEYS, store });
  const sizes = await sizesOf(ready);
  let goesOn = (): void => {};
  events.on((event) => {
    if (event.type === "tool.log") goesOn();
  });
  let ended: Promise<ToolExecution | null> | undefined;
  const finish = async (): Promise<void> => {
    const execution = await ended;
    if (execution !== undefined && execution?.output !== 4) throw new Error(execution?.error?.message);
  };
  return {
    before: async () => {
      await finish();
      await store.put(ready.program, ready.calls);
    },
    run: () => {
      const { promise, resolve } = Promise.withResolvers<true>();
      goesOn = () => resolve(true);
      ended = dispatchCall({ ...CALL, problem: undefined, isSuspended: true }, context(suspensions));
      return Promise.race([promise, ended.then(() => promise)]);
    },
    check: () => {},
    observed: () => sizes,
    close: async () => {
      await finish();
      await suspensions[Symbol.asyncDispose]();
      await sandboxes[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function makeReady(
  context: (suspensions: Suspensions) => Parameters<ToolDispatchEngine["dispatch"]>[1],
): Promise<Ready> {
  const store = new HoldingStore();
  const running = new ToolDispatchEngine().dispatch(CALL, context(openSuspensions({ keys: KEYS, store })));
  const program = await store.taken;
  const calls = await store.calls(program.id);
  const template = (await store.template(program.template)) as Uint8Array;
  await running;
  return { program, calls, template };
}

/** What a suspension takes, with its template as dictionary and without: then it has to have its whole heap. */
async function sizesOf({ program, template }: Ready): Promise<Readonly<Record<string, number>>> {
  const store = new MemorySuspensionStore();
  store.put(program, []);
  const { from } = await openSuspensions({ keys: KEYS, store }).reopen({
    ...program,
    describe: () => {
      throw new Error("it is not suspended again");
    },
  });
  const snapshot = readTemplate(template, program.template);
  const heap = from?.heap ?? new Uint8Array();
  const bytes = new Uint8Array(snapshot.bytes).slice();
  const guest = await decompressGuest(heap, bytes, MEMORY_BYTES);
  return {
    "bytes sealed": program.sealed.length,
    "bytes of the heap, with the template": heap.length,
    "and without it": zstdCompressSync(wholeHeap(guest, bytes)).length,
  };
}

/** The template with the blocks of a guest. */
function wholeHeap({ addresses, blocks }: SuspendedGuest, template: Uint8Array): Uint8Array {
  const places = Array.from(addresses, (address) =>
    address >= HEAP_START ? address - HEAP_START + DATA_END : address,
  );
  const end = Math.max(template.length, ...places.map((at) => at + BLOCK_BYTES));
  const whole = new Uint8Array(end);
  whole.set(template);
  let from = 0;
  for (const [index, at] of places.entries()) {
    const isLastOfData = (addresses[index] as number) < DATA_END && at + BLOCK_BYTES > DATA_END;
    const block = blocks.subarray(from, from + (isLastOfData ? DATA_END - at : BLOCK_BYTES));
    whole.set(block, at);
    from += block.length;
  }
  return whole;
}
