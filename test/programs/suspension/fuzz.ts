import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { CallSuspensions, ReopenedSuspension } from "../../../src/engine/call/suspension.ts";
import { dispatchCall, ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { MemorySuspensionStore } from "../../../src/programs/stores/recorded-store.ts";
import type { StoredProgram } from "../../../src/programs/stores/suspension-store.ts";
import { openSuspensions } from "../../../src/programs/suspension/suspensions.ts";
import type { SuspendedTask } from "../../../src/sandboxes/contract/suspension.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import {
  compressGuest,
  decompressGuest,
  readTemplate,
  templateBytes,
} from "../../../src/sandboxes/quickjs/suspension/waiting-guest.ts";
import { numbers } from "./kill/plan.ts";
import { KEY, program, programPolicy } from "./setting.ts";

const SOURCE = `export default async ({ to }, { tools }) => {
  const kept = new Map([["a", { deep: [1, 2, 3] }]]);
  const paid = await Promise.all(to.map((each) => tools.call("pay", { to: each })));
  return { paid, kept: kept.get("a").deep };
}`;

const sandboxes = await openSandboxes({ workers: { threads: 1 } });

/** Programs that wait in a store, and what is needed to go on with them. */
export class Suspended {
  readonly store: MemorySuspensionStore = new MemorySuspensionStore();
  readonly registry: ToolRegistry = new ToolRegistry();
  /** How often a person was asked, and how often something was paid. */
  asked = 0;
  paid = 0;

  constructor() {
    const pay = {
      name: "pay",
      description: "",
      inputSchema: { type: "object" },
      sideEffects: "write" as const,
    };
    this.registry.register(program(SOURCE)).register({
      ...pay,
      host: () => {
        this.paid++;
        return 7;
      },
    });
  }

  /** Begins a program, and returns it as soon as it is suspended. */
  async begin(callId: string): Promise<StoredProgram> {
    const stopped = new AbortController();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const suspensions = openSuspensions({ store: this.store, keys: [KEY] });
    const result = new ToolDispatchEngine().dispatch(
      { id: callId, name: "program", arguments: { to: ["x", "y"] } },
      this.#context(suspensions, stopped.signal, () => {
        resolve();
        return new Promise(() => {});
      }),
    );
    await asked;
    const stored = (await this.store.list()).find((header) => header.callId === callId);
    const suspended = (await this.store.get(stored?.id ?? "")) as StoredProgram;
    stopped.abort();
    await result;
    return suspended;
  }

  /** Goes on with a program, and allows what it asks. */
  async resume(
    callId: string,
    suspensions: CallSuspensions,
    principal: string | undefined = "ann",
  ): Promise<ToolExecution | null> {
    const received = { id: callId, name: "program", arguments: { to: ["x", "y"] }, problem: undefined };
    return dispatchCall(
      { ...received, isSuspended: true },
      this.#context(
        suspensions,
        undefined,
        async () => {
          this.asked++;
          return { decision: "allow", by: "eve" };
        },
        principal,
      ),
    );
  }

  #context(
    suspensions: CallSuspensions,
    signal: AbortSignal | undefined,
    confirm: NonNullable<Parameters<ToolDispatchEngine["dispatch"]>[1]["confirm"]>,
    principal = "ann",
  ): Parameters<ToolDispatchEngine["dispatch"]>[1] {
    return {
      registry: this.registry,
      sandboxes,
      suspensions,
      confirm,
      sessionId: "s1",
      turnId: "t1",
      policy: programPolicy({ wallTimeMs: 500 }),
      principal: { id: principal, kind: "user" },
      ...(signal !== undefined && { signal }),
    };
  }
}

/** What came of a fuzz. */
export interface FuzzReport {
  readonly tried: number;
  readonly refused: number;
  readonly faults: readonly string[];
}

type Change = (
  program: StoredProgram,
  other: StoredProgram,
  next: (below: number) => number,
) => StoredProgram;

/** Changes of what is stored that everyone with access to the store could make. None may go on. */
const CHANGES: Readonly<Record<string, Change>> = {
  "a bit": (one, _, next) => {
    const sealed = one.sealed.slice();
    const at = next(sealed.length);
    sealed[at] = (sealed[at] ?? 0) ^ (1 << next(8));
    return { ...one, sealed };
  },
  "the length": (one, _, next) => ({ ...one, sealed: one.sealed.slice(0, next(one.sealed.length)) }),
  "what follows": (one, _, next) => ({
    ...one,
    sealed: Buffer.concat([one.sealed, Buffer.alloc(1 + next(64))]),
  }),
  "another program's content": (one, other) => ({ ...one, sealed: other.sealed }),
  "a part of another program's content": (one, other, next) => {
    const at = next(Math.min(one.sealed.length, other.sealed.length));
    return { ...one, sealed: Buffer.concat([one.sealed.slice(0, at), other.sealed.slice(at)]) };
  },
  "the whole of another program": (one, other) => ({ ...other, id: one.id }),
  "its revision": (one, _, next) => ({ ...one, revision: one.revision + 1 + next(9) }),
  "its principal": (one) => ({ ...one, principal: "mallory" }),
  "its call": (one, _, next) => ({ ...one, callId: `c${next(99) + 100}` }),
  "its policy": (one) => ({ ...one, policyRevision: "f".repeat(64) }),
  "its definitions": (one) => ({ ...one, definitions: "f".repeat(64) }),
  "its template": (one) => ({ ...one, template: "f".repeat(64) }),
  "its build": (one) => ({ ...one, build: "f".repeat(64) }),
  "how long it may wait": (one, _, next) => ({ ...one, waitUntil: one.waitUntil + 1 + next(1_000_000) }),
  "when it was suspended": (one, _, next) => ({ ...one, suspendedAt: one.suspendedAt + 1 + next(1_000_000) }),
  "its key": (one) => ({ ...one, keyId: "k2" }),
  "its open calls": (one) => ({ ...one, open: [] }),
};

/** Changes what is stored of a program in many ways, and tries to go on with it. */
export async function fuzzStored(count: number, seed: number): Promise<FuzzReport> {
  const next = numbers(seed);
  const suspended = new Suspended();
  const one = await suspended.begin("c1");
  const other = await suspended.begin("c2");
  const faults: string[] = [];
  let refused = 0;
  for (const [template] of [[one.template]]) {
    for (let tried = 0; tried < count; tried++) {
      const names = Object.keys(CHANGES);
      const name = names[tried % names.length] as string;
      const changed = CHANGES[name]?.(one, other, next) as StoredProgram;
      const store = new MemorySuspensionStore();
      store.addTemplate(
        template as string,
        (await suspended.store.template(template as string)) ?? new Uint8Array(),
      );
      restore(store, changed);
      const keys = [KEY, { id: "k2", key: new Uint8Array(32).fill(9) }];
      const result = await suspended.resume("c1", openSuspensions({ store, keys }));
      if (result?.error?.code === "execution_error" && result.error.effect === "unknown") refused++;
      else faults.push(`${name}: ${JSON.stringify(result?.error ?? result?.output)}`);
    }
  }
  if (suspended.asked > 0 || suspended.paid > 0) faults.push("a program went on");
  return { tried: count, refused, faults };
}

/** Puts a program into a store, whatever its revision. */
function restore(store: MemorySuspensionStore, program: StoredProgram): void {
  for (let revision = 1; revision <= program.revision; revision++) store.put({ ...program, revision }, []);
}

/**
 * Goes on with heaps that were changed by someone who has the key: they may do anything to their guest, and to nothing else.
 * The process must not crash, and no program may do what a person was not asked about.
 */
export async function fuzzHeaps(count: number, seed: number): Promise<FuzzReport> {
  const next = numbers(seed);
  const suspended = new Suspended();
  const faults: string[] = [];
  let refused = 0;
  for (let tried = 0; tried < count; tried++) {
    const callId = `c${tried}`;
    const stored = await suspended.begin(callId);
    const store = new MemorySuspensionStore();
    const template = (await suspended.store.template(stored.template)) ?? new Uint8Array();
    store.addTemplate(stored.template, template);
    restore(store, stored);
    const real = openSuspensions({ store, keys: [KEY] });
    const suspensions: CallSuspensions = Object.create(real, {
      reopen: {
        value: async (call: never) => {
          const opened = await real.reopen(call);
          const from = await changeTask(opened.from as SuspendedTask, template, next);
          return Object.create(opened, {
            from: { value: from },
            ...bound(opened),
          }) as ReopenedSuspension;
        },
      },
      begin: { value: real.begin.bind(real) },
      forget: { value: real.forget.bind(real) },
      isSuspended: { value: real.isSuspended.bind(real) },
    });
    suspended.asked = 0;
    suspended.paid = 0;
    const result = await suspended.resume(callId, suspensions);
    if (result?.success !== true) refused++;
    if (suspended.paid > suspended.asked) faults.push(`heap ${tried}: it paid without a question`);
    if (result === null) faults.push(`heap ${tried}: there is no result`);
  }
  return { tried: count, refused, faults };
}

/** The methods of a suspension, which have private members. */
function bound(suspension: ReopenedSuspension): PropertyDescriptorMap {
  const names = ["suspend", "resume", "template", "claim", "end", "known", "close"] as const;
  return Object.fromEntries(names.map((name) => [name, { value: suspension[name].bind(suspension) }]));
}

async function changeTask(
  task: SuspendedTask,
  template: Uint8Array,
  next: (below: number) => number,
): Promise<SuspendedTask> {
  const { dictionary } = templateBytes(readTemplate(template, task.template));
  const kind = next(4);
  if (kind === 0) {
    const heap = Uint8Array.from(task.heap);
    for (let times = 1 + next(8); times > 0; times--) heap[next(heap.length)] = next(256);
    return { ...task, heap };
  }
  if (kind === 1) return { ...task, state: { ...task.state, ...STATES[next(STATES.length)] } };
  const guest = await decompressGuest(task.heap, dictionary, 2 ** 26);
  for (let times = 1 + next(kind === 2 ? 4 : 400); times > 0; times--)
    guest.blocks[next(guest.blocks.length)] = next(256);
  return { ...task, heap: await compressGuest(guest, dictionary) };
}

const STATES = [
  { requests: [{ request: { kind: "call-tool", id: 99, name: "pay", input: "{}", number: 1 }, leftMs: 5 }] },
  {
    requests: [{ request: { kind: "call-tool", id: 1, name: "program", input: "{}", number: 1 }, leftMs: 5 }],
  },
  { requests: "x" },
  { elapsedMs: -1 },
  { wakeMs: 0 },
  { log: {} },
  { use: { nestedCalls: 1e9, effect: "none" } },
  { fetches: null },
];
