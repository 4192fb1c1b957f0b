import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { SqliteSuspensionStore } from "../../../src/programs/stores/sqlite-store.ts";
import { openSuspensions } from "../../../src/programs/suspension/suspensions.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { KEY, program, programPolicy } from "./setting.ts";

const SOURCE = `export default async ({ to }, { tools }) => {
  const kept = new Map(to.map((each) => [each, { each }]));
  const paid = await Promise.all(to.map((each) => tools.call("pay", { to: each })));
  return { paid, kept: kept.size };
}`;

/** How much many programs take that are suspended at the same time. */
export interface ManyReport {
  readonly programs: number;
  /** Bytes of the store's file. */
  readonly storedBytes: number;
  /** Bytes by which the heap of this process and its buffers have grown, with everything that waits for an answer. */
  readonly memoryBytes: number;
}

/** Suspends many programs with three open calls each at the same time. */
export async function suspendMany(count: number): Promise<ManyReport> {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-many-"));
  const store = new SqliteSuspensionStore(join(folder, "programs.db"));
  await using suspensions = openSuspensions({ store, keys: [KEY] });
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const pay = {
    name: "pay",
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "write" as const,
  };
  const registry = new ToolRegistry().register(program(SOURCE)).register({ ...pay, host: () => 7 });
  const policy = programPolicy();
  const stopped = new AbortController();
  const begin = (index: number): { readonly asked: Promise<void>; readonly result: Promise<unknown> } => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    let left = 3;
    const result = new ToolDispatchEngine().dispatch(
      { id: `c${index}`, name: "program", arguments: { to: ["x", "y", "z"] } },
      {
        registry,
        sandboxes,
        suspensions,
        policy,
        sessionId: `s${index}`,
        signal: stopped.signal,
        confirm: () => {
          if (--left === 0) resolve();
          return new Promise(() => {});
        },
      },
    );
    return { asked, result };
  };
  try {
    await begin(0).asked;
    globalThis.gc?.();
    const before = memory();
    const begun = [];
    for (let index = 1; index <= count; index++) {
      const one = begin(index);
      begun.push(one.result);
      await one.asked;
    }
    globalThis.gc?.();
    const memoryBytes = memory() - before;
    const storedBytes = sizeOf(join(folder, "programs.db"));
    stopped.abort();
    await Promise.all(begun);
    return { programs: count, storedBytes, memoryBytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The size of a database with everything that was written. */
function sizeOf(file: string): number {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  using database = new DatabaseSync(file);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return statSync(file).size;
}

function memory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
