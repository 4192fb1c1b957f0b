import { newQuickJSWASMModule, RELEASE_SYNC } from "quickjs-emscripten";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { sustained } from "../harness/in-flight.ts";
import { peerCase } from "../peer-case.ts";
import { openPiscinaEcho } from "../pool/piscina-echo.ts";
import { isEcho, isInput } from "../setting.ts";
import { bareFreshCall, callInFreshContext, ourFreshCall } from "./in-thread.ts";
import { openTools, type QuickJsTools } from "./tools.ts";

const isText = (text: unknown): void => isInput(JSON.parse(String(text)));

/** The floor of what runs in this thread: how it compares to waking a thread differs too much between machines. */
const RESTORE = "quickjs-emscripten: restore and call, in this thread";

/** The cost of a call in a separate heap, compared to the round trip to a thread and other kinds of isolation. */
const quickjs: Question = {
  name: "quickjs",
  cases: [
    { name: "piscina run() of an echo, one thread", open: () => openPiscinaEcho(1) },
    ours("dispatch through a thread", (tools) => () => tools.dispatch("echo")),
    ours("the same, another session each time", (tools) => {
      let calls = 0;
      return () => tools.dispatch("echo", `session ${++calls}`);
    }),
    ours("with one await of a nested host tool", (tools) => () => tools.dispatch("nested")),
    { ...ours("the nested host tool by itself", (tools) => () => tools.dispatch("host")), floor: RESTORE },
    {
      name: "ours: restore and call, in this thread",
      floor: RESTORE,
      open: async () => ({ run: await ourFreshCall(), check: isText }),
    },
    {
      name: RESTORE,
      floor: RESTORE,
      open: async () => ({ run: await bareFreshCall(), check: isText }),
    },
    {
      name: "quickjs-emscripten: fresh runtime, context, eval, call, dispose, in this thread",
      floor: RESTORE,
      open: async () => {
        const library = await newQuickJSWASMModule(RELEASE_SYNC);
        return { run: () => callInFreshContext(library), check: isText };
      },
    },
    peerCase("isolated-vm: a new isolate and context, eval, dispose, in this thread", "isolated-vm"),
    peerCase("@sebastianwessel/quickjs: runSandboxed, eval, in this thread", "sebastianwessel-quickjs"),
    peerCase(
      "codemode: a new isolate for each execution, 16 of them one by one in a request to workerd",
      "codemode",
      "open",
      16,
    ),
  ],
};

/** The throughput of two threads. */
const load: Question = {
  name: "quickjs-load",
  cases: [
    { name: "piscina run() of an echo, 16 tasks per thread", open: () => openPiscinaEcho(2, 16) },
    ours("dispatch through two threads", (tools) => () => tools.dispatch("echo"), 2),
  ].map((each) => sustained(64, 16, each)),
};

/** The time until the next call completes if a call has to be terminated together with its thread. */
const kill: Question = {
  name: "quickjs-kill-to-next",
  cases: [
    ours("a call after one that ended well", (tools) => () => tools.dispatch("echo")),
    {
      name: "ours: a call after one whose thread was ended",
      open: async () => {
        const tools = await openTools(1);
        return {
          before: () => tools.dispatch("deaf"),
          run: () => tools.dispatch("echo"),
          check: isEcho,
          close: () => tools.close(),
        };
      },
    },
    {
      name: "ours: a call that is deaf to its deadline (1 ms, and 50 ms of grace), and the next one",
      open: async () => {
        const tools = await openTools(1);
        const run = async (): Promise<unknown> => {
          await tools.dispatch("deaf");
          return tools.dispatch("echo");
        };
        return { run, check: isEcho, close: () => tools.close() };
      },
    },
  ],
};

/** The questions about QuickJS tools. */
export const questions: readonly Question[] = [quickjs, load, kill];

function ours(name: string, runOf: (tools: QuickJsTools) => () => unknown, threads = 1): Case {
  const open = async (): Promise<OpenCase> => {
    const tools = await openTools(threads);
    return { run: runOf(tools), check: isEcho, close: () => tools.close() };
  };
  return { name: `ours: ${name}`, open };
}
