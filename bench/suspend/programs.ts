import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { defineTool, openSandboxes, RulePolicy, ToolDispatchEngine, ToolRegistry } from "sandgate";
import {
  MemorySuspensionStore,
  openSuspensions,
  SqliteSuspensionStore,
  type StoredProgram,
  type SuspensionStore,
} from "sandgate/programs";
import type { OpenCase } from "../harness/case.ts";

const SOURCE = `export default async ({ to }, { tools }) => {
  const kept = new Map(to.map((each) => [each, { each }]));
  const paid = await Promise.all(to.map((each) => tools.call("pay", { to: each })));
  return paid.length + kept.size;
}`;
const POLICY = new RulePolicy({
  rules: [
    { tools: ["program"], effect: "allow", sandboxes: ["quickjs"], capabilities: { tools: ["pay"] } },
    { tools: ["pay"], effect: "ask", question: "Pay?", sandboxes: ["host"] },
  ],
});

/** Where programs are kept while they wait: `undefined` if they are not. */
export type Kept = "memory" | "sqlite" | undefined;

/**
 * Opens a case in which a program makes three calls at once, a person allows all of them as soon as the third is asked about,
 * and it returns. If it is kept, it is suspended once before, and resumed.
 */
export async function openProgram(kept: Kept): Promise<OpenCase> {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-bench-"));
  const inputSchema = { type: "object" } as const;
  const registry = new ToolRegistry()
    .register(
      defineTool({
        name: "program",
        description: "",
        inputSchema,
        sideEffects: "write",
        quickjs: { source: SOURCE },
      }),
    )
    .register(defineTool({ name: "pay", description: "", inputSchema, sideEffects: "write", host: () => 1 }));
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const engine = new ToolDispatchEngine();
  const sizes = new Sizes(kept === "sqlite" ? new SqliteSuspensionStore(join(folder, "p.db")) : undefined);
  const keys = [{ id: "k1", key: new Uint8Array(32).fill(7) }];
  const suspensions = kept === undefined ? undefined : openSuspensions({ keys, store: sizes });
  let count = 0;
  return {
    run: () => {
      const asked: ((answer: { readonly decision: "allow"; readonly by: string }) => void)[] = [];
      return engine.dispatch(
        { id: `c${++count}`, name: "program", arguments: { to: ["x", "y", "z"] } },
        {
          registry,
          sandboxes,
          policy: POLICY,
          sessionId: "bench",
          ...(suspensions && { suspensions }),
          confirm: () =>
            new Promise((resolve) => {
              if (asked.push(resolve) < 3) return;
              for (const allow of asked) allow({ decision: "allow", by: "eve" });
            }),
        },
      );
    },
    check: (execution) => {
      if ((execution as { readonly output?: unknown } | null)?.output !== 6)
        throw new Error("a wrong result");
    },
    observed: () => (kept === undefined ? {} : sizes.figures()),
    close: async () => {
      await suspensions?.[Symbol.asyncDispose]();
      await sandboxes[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A store that also measures what it keeps. */
class Sizes extends MemorySuspensionStore {
  readonly #store: SuspensionStore | undefined;
  #sealed: number[] = [];
  #template = 0;

  constructor(store: SuspensionStore | undefined) {
    super();
    this.#store = store;
  }

  override put(program: StoredProgram, calls: Parameters<SuspensionStore["put"]>[1]): never {
    this.#sealed.push(program.sealed.length);
    return (this.#store?.put(program, calls) ?? super.put(program, calls)) as never;
  }

  override take(id: string, revision: number): never {
    if (this.#store === undefined) return super.take(id, revision) as never;
    return this.#store.take(id, revision) as never;
  }

  override claim(...claimed: Parameters<SuspensionStore["claim"]>): never {
    return (this.#store?.claim(...claimed) ?? super.claim(...claimed)) as never;
  }

  override replace(program: StoredProgram): never {
    this.#sealed.push(program.sealed.length);
    return (this.#store?.replace(program) ?? super.replace(program)) as never;
  }

  override end(...ended: Parameters<SuspensionStore["end"]>): never {
    return (this.#store === undefined ? super.end(...ended) : this.#store.end(...ended)) as never;
  }

  override remove(id: string): never {
    return (this.#store?.remove(id) ?? super.remove(id)) as never;
  }

  override addTemplate(digest: string, bytes: Uint8Array): never {
    this.#template = zstdCompressSync(bytes).length;
    super.addTemplate(digest, bytes);
    return this.#store?.addTemplate(digest, bytes) as never;
  }

  override close(): void {
    void this.#store?.close();
  }

  /** The sizes since the last call. Without its template as dictionary, a program would have about the size of both. */
  figures(): Readonly<Record<string, number>> {
    const sorted = this.#sealed.toSorted((one, other) => one - other);
    this.#sealed = [];
    const median = sorted[sorted.length >> 1] ?? 0;
    return { "bytes suspended": median, "bytes of its template": this.#template };
  }
}
