import { Piscina } from "piscina";
import { newQuickJSWASMModule, RELEASE_SYNC } from "quickjs-emscripten";
import {
  allow,
  defineTool,
  type GrantOptions,
  openSandboxes,
  ToolDispatchEngine,
  ToolRegistry,
} from "sandgate";
import type { Case, Question } from "./measure.ts";
import { freshIsolate, freshSandbox } from "./peers/peers.ts";
import { bareFreshCall, callInFreshContext, ourFreshCall } from "./quickjs-in-thread.ts";
import { INPUT, INPUT_SCHEMA, INPUT_TEXT, isInput } from "./setting.ts";

const ECHO = new URL("fixtures/echo-worker.mjs", import.meta.url).href;

const TOOLS: Record<string, string> = {
  echo: "export default (input) => input",
  nested: "export default async (input, { tools }) => tools.call('host', input)",
  // The engine does not look at its clock in here: its thread has to be ended.
  deaf: "export default () => [].reverse.call({ length: 2 ** 32 - 1 })",
};

/** Sandboxes with the tools of this benchmark. */
async function openTools(threads: number): Promise<{
  dispatch(name: string, sessionId?: string): Promise<unknown>;
  close(): Promise<void>;
}> {
  const registry = new ToolRegistry();
  const shared = { description: "", inputSchema: INPUT_SCHEMA };
  for (const [name, source] of Object.entries(TOOLS)) {
    registry.register(defineTool({ name, ...shared, quickjs: { source } }));
  }
  registry.register(defineTool({ name: "host", ...shared, host: (input) => input }));
  const grants: Record<string, GrantOptions> = {
    echo: { sandbox: "quickjs" },
    nested: { sandbox: "quickjs", capabilities: { tools: ["host"] } },
    deaf: { sandbox: "quickjs", limits: { wallTimeMs: 1 } },
    host: { sandbox: "host" },
  };
  const decisions = new Map(Object.entries(grants).map(([name, grant]) => [name, allow(grant)]));
  const policy = {
    check: ({ tool }: { tool: { name: string } }) =>
      decisions.get(tool.name) ?? ({ decision: "deny", reason: "" } as const),
  };
  const sandboxes = await openSandboxes({ workers: { threads } });
  const engine = new ToolDispatchEngine();
  return {
    dispatch: (name, sessionId = "bench") =>
      engine.dispatch(
        { id: "call", name, arguments: INPUT_TEXT },
        { registry, policy, sandboxes, sessionId },
      ),
    close: () => sandboxes.close(),
  };
}

const isEcho = (execution: unknown): void => isInput((execution as { output?: unknown } | null)?.output);
const isText = (text: unknown): void => isInput(JSON.parse(String(text)));

/** What does a call in a heap of its own cost, beside the round trip to a thread and other ways to isolate it? */
export async function quickjs(): Promise<Question> {
  const pool = new Piscina({ filename: ECHO, minThreads: 1, maxThreads: 1 });
  const ours = await openTools(1);
  const library = await newQuickJSWASMModule(RELEASE_SYNC);
  const peers = (await Promise.all([freshIsolate(), freshSandbox()])).filter((peer) => peer !== undefined);
  let calls = 0;
  const cases: Case[] = [
    { name: "ours: dispatch through a thread", run: () => ours.dispatch("echo"), check: isEcho },
    {
      name: "ours: the same, another session each time",
      run: () => ours.dispatch("echo", `session ${++calls}`),
      check: isEcho,
    },
    { name: "ours: with one await of a nested host tool", run: () => ours.dispatch("nested"), check: isEcho },
    { name: "the nested host tool by itself", run: () => ours.dispatch("host"), check: isEcho },
    { name: "ours: restore and call, in this thread", run: await ourFreshCall(), check: isText },
    {
      name: "quickjs-emscripten: restore and call, in this thread",
      run: await bareFreshCall(),
      check: isText,
    },
    {
      name: "quickjs-emscripten: fresh runtime, context, eval, call, dispose, in this thread",
      run: () => callInFreshContext(library),
      check: isText,
    },
    ...peers.map(({ name, run }) => ({ name, run, check: isText })),
  ];
  return {
    name: "quickjs",
    floor: { name: "piscina run() of an echo, one thread", run: () => pool.run(INPUT), check: isInput },
    cases,
    close: async () => {
      await Promise.all([pool.destroy(), ours.close(), ...peers.map((peer) => peer.close())]);
    },
  };
}

const BATCH = 256;
const IN_FLIGHT = 64;

/** How many calls go through two threads at once, beside the threads' pool alone, and after a thread's end? */
export async function quickjsLoad(): Promise<Question> {
  const pool = new Piscina({ filename: ECHO, minThreads: 2, maxThreads: 2 });
  const two = await openTools(2);
  const one = await openTools(1);
  return {
    name: "quickjs-load",
    floor: {
      name: `piscina: ${BATCH} echoes, ${IN_FLIGHT} in flight, two threads`,
      run: () => batch(() => pool.run(INPUT)),
      check: isInput,
    },
    cases: [
      {
        name: `ours: ${BATCH} calls, ${IN_FLIGHT} in flight, two threads`,
        run: () => batch(() => two.dispatch("echo")),
        check: isEcho,
      },
      {
        name: "ours: a call that is deaf to its deadline (1 ms, and 50 ms of grace), and the next one on its thread",
        run: async () => {
          await one.dispatch("deaf");
          return one.dispatch("echo");
        },
        check: isEcho,
      },
    ],
    close: async () => void (await Promise.all([pool.destroy(), two.close(), one.close()])),
  };
}

/** Makes {@link BATCH} calls; the answer is that of the last one. */
async function batch(call: () => Promise<unknown>): Promise<unknown> {
  let left = BATCH;
  let last: unknown;
  const next = async (): Promise<void> => {
    while (left-- > 0) last = await call();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, next));
  return last;
}
