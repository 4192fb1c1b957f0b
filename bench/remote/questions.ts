import type { Case, Question } from "../harness/case.ts";
import { inFlight, sustained } from "../harness/in-flight.ts";
import { INPUT } from "../setting.ts";
import { openExecutor } from "./executor.ts";
import { openRemoteTool, openUndici } from "./http-tool.ts";
import { withMemoryWatch } from "./waiting-memory.ts";

const IN_FLIGHT = 64;
const CALLS_EACH = 16;
const MANY = 2_000;

const CALL = { id: "call", name: "echo", session: "bench", arguments: INPUT };
const EXECUTOR_CALL = {
  call: { id: "call~twelve-letter1", name: "echo", arguments: INPUT },
  session: "bench",
  grant: { limits: { wallTimeMs: 30_000, outputBytes: 1_048_576 }, capabilities: {} },
  timeoutMs: 30_100,
};

const undici = (path: string): Case => ({
  name: "undici Pool.request + JSON both ways",
  open: () => openUndici(path, INPUT),
});
const undiciToExecutor = (path: string): Case => ({
  name: "undici Pool.request of the same bytes + JSON both ways, to a server that echoes",
  open: () =>
    openUndici(
      path,
      EXECUTOR_CALL,
      (answer) => (answer as { call?: { arguments?: unknown } }).call?.arguments,
    ),
});
const httpTool = (path: string): Case => ({
  name: "dispatch of an HTTP tool",
  open: () => openRemoteTool((origin) => ({ remote: { http: { method: "POST", url: `${origin}${path}` } } })),
});

/** The cost of a call of an HTTP tool, compared to sending the same bytes to the same server with undici. */
const remote: Question = { name: "remote", cases: [undici("/arguments"), httpTool("/arguments")] };

/** The same for an endpoint of the embedder, which receives the whole call. */
const endpoint: Question = {
  name: "remote-endpoint",
  cases: [
    { name: "undici Pool.request + JSON both ways", open: () => openUndici("/", CALL) },
    {
      name: "dispatch to the embedder's endpoint",
      open: () => openRemoteTool((origin) => ({ remote: { url: `${origin}/` } })),
    },
  ],
};

/** The same with many calls in flight all the time. */
const load: Question = {
  name: "remote-load",
  cases: [undici("/arguments"), httpTool("/arguments")].map((each) => sustained(IN_FLIGHT, CALLS_EACH, each)),
};

/** Thousands of calls whose server takes 100 ms, and how much memory each of them takes meanwhile. */
const many: Question = {
  name: "remote-many",
  cases: [undici("/slow"), httpTool("/slow")].map((each) => withMemoryWatch(MANY, inFlight(MANY, each))),
};

/** The cost of a call on an executor, compared to sending the same bytes to an echo server with undici. */
const executor: Question = {
  name: "remote-executor",
  cases: [
    undiciToExecutor("/echo"),
    { name: "dispatch on an executor", open: () => openExecutor() },
    { name: "dispatch on an executor, signed", open: () => openExecutor({ isSigned: true }) },
    { name: "dispatch on an executor, framed", open: () => openExecutor({ isFramed: true }) },
    {
      name: "dispatch on an executor, framed and signed",
      open: () => openExecutor({ isFramed: true, isSigned: true }),
    },
  ],
};

/** The same with many calls in flight all the time. */
const executorLoad: Question = {
  name: "remote-executor-load",
  cases: [
    undiciToExecutor("/echo"),
    { name: "dispatch on an executor", open: () => openExecutor() },
    { name: "dispatch on an executor, signed", open: () => openExecutor({ isSigned: true }) },
    { name: "dispatch on an executor, framed", open: () => openExecutor({ isFramed: true }) },
    {
      name: "dispatch on an executor, framed and signed",
      open: () => openExecutor({ isFramed: true, isSigned: true }),
    },
  ].map((each) => sustained(IN_FLIGHT, CALLS_EACH, each)),
};

/** Thousands of calls that take 100 ms, and how much of the client's memory each of them takes meanwhile. */
const executorMany: Question = {
  name: "remote-executor-many",
  cases: [
    undiciToExecutor("/slow"),
    { name: "dispatch on an executor", open: () => openExecutor({ tool: "slow", inFlight: MANY }) },
  ].map((each) => withMemoryWatch(MANY, inFlight(MANY, each))),
};

/** The questions about remote tools. */
export const questions: readonly Question[] = [
  remote,
  endpoint,
  load,
  many,
  executor,
  executorLoad,
  executorMany,
];
