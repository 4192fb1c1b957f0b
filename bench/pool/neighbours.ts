import { setTimeout as delay } from "node:timers/promises";
import { allow, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { INPUT_SCHEMA, INPUT_TEXT, isEcho } from "../setting.ts";
import { THREAD_TOOLS, type ThreadTools } from "./thread-tools.ts";

/** The number of calls in flight besides the one that is timed. */
const OTHERS = 60;
/** 5 % of all calls in flight. */
const SPINNING = 3;
const DEADLINE_MS = 500;
/** How long they run before the first call is timed, in milliseconds. */
const BEFORE_MS = 50;

/** The cost of a tool's calls, especially their p99, if 5 % of all calls belong to another tool and never end. */
export const neighbours: Question = {
  name: "pool-neighbours",
  cases: Object.entries(THREAD_TOOLS).flatMap(([kind, tools]): Case[] => {
    const floor = `${kind}: a call beside ${OTHERS} others, two threads`;
    return [
      { name: floor, floor, open: async () => openMixed(await tools(), 0) },
      {
        name: `${kind}: and ${SPINNING} of another tool that spin until their deadline of ${DEADLINE_MS} ms`,
        floor,
        open: async () => openMixed(await tools(), SPINNING),
      },
    ];
  }),
};

async function openMixed({ sandbox, echo, spin }: ThreadTools, spinning: number): Promise<OpenCase> {
  const shared = { description: "", inputSchema: INPUT_SCHEMA };
  const tools = [
    { name: "echo", ...shared, ...echo },
    { name: "spin", ...shared, ...spin },
  ];
  const registry = new ToolRegistry();
  const sandboxes = await openSandboxes({ workers: { threads: 2 } });
  for (const tool of tools) {
    registry.register(tool);
    await sandboxes.prepare(tool);
  }
  const decision = allow({ sandbox, limits: { wallTimeMs: DEADLINE_MS } });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const dispatch = (name: string): Promise<unknown> =>
    engine.dispatch({ id: "call", name, arguments: INPUT_TEXT }, ctx);
  const beside = async (): Promise<() => Promise<unknown>> => {
    let isOver = false;
    const keepCalling = async (name: string): Promise<void> => {
      while (!isOver) await dispatch(name);
    };
    const running = [
      ...Array.from({ length: OTHERS }, () => keepCalling("echo")),
      ...Array.from({ length: spinning }, () => keepCalling("spin")),
    ];
    await delay(BEFORE_MS);
    return () => {
      isOver = true;
      return Promise.all(running);
    };
  };
  return { beside, run: () => dispatch("echo"), check: isEcho, close: () => sandboxes.close() };
}
