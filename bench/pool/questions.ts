import { strictEqual } from "node:assert";
import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { Piscina } from "piscina";
import { piscinaPool } from "sandgate/piscina";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { sustained } from "../harness/in-flight.ts";
import { INPUT, openEcho, outputOf } from "../setting.ts";
import { SIZES, sizedText, sizeName, TEXT_SCHEMA } from "../sizes.ts";
import { busyNeighbour } from "./busy-neighbour.ts";
import { neighbours } from "./neighbours.ts";
import { ECHO_MODULE, openPiscinaEcho } from "./piscina-echo.ts";
import { openRawEcho, RawThreads } from "./raw-threads.ts";

const SHA256_MODULE = new URL("../fixtures/sha256-worker.mjs", import.meta.url);
const BEST_TASKS = 16;
const CALLS_EACH = 16;
const IN_FLIGHT: readonly number[] = [1, 4, 16, 64, 256, 1_024, 4_096];
const MAX_SIZE = 1_000_000;

const echoTool = (threads: number): Promise<OpenCase> =>
  openEcho("host", { host: { module: ECHO_MODULE } }, { sandboxes: { workers: { threads } } });

const ROUND_TRIP: readonly Case[] = [
  { name: "piscina run() of an echo", open: () => openPiscinaEcho(1) },
  { name: "postMessage there and back", open: () => openRawEcho(1) },
  { name: "dispatch of a worker tool", open: () => echoTool(1) },
];

/** The cost of a call in a thread, compared to piscina's round trip. */
const roundTrip: Question = { name: "pool", cases: ROUND_TRIP };

/** The same in a Piscina that the embedder shares with its tools, compared to piscina's round trip. */
const embedders: Question = {
  name: "pool-embedders-piscina",
  cases: [
    { name: "piscina run() of an echo", open: () => openPiscinaEcho(1) },
    { name: "dispatch of a worker tool", open: () => echoTool(1) },
    { name: "dispatch of a worker tool in the embedder's piscina", open: openEmbeddersPiscina },
  ],
};

async function openEmbeddersPiscina(): Promise<OpenCase> {
  const piscina = new Piscina({ minThreads: 1, maxThreads: 1 });
  const workers = { pool: piscinaPool(piscina) };
  const opened = await openEcho("host", { host: { module: ECHO_MODULE } }, { sandboxes: { workers } });
  const close = async (): Promise<void> => {
    await opened.close?.();
    await piscina.destroy();
  };
  return { ...opened, close };
}

/** The same on one core, which measures the instructions without waking up another core. */
const pinned: Question = {
  name: "pool-one-core",
  cases: ROUND_TRIP.map((each) => ({ ...each, isPinned: true })),
};

/** The throughput of tiny calls in two threads. */
const load: Question = {
  name: "pool-load",
  cases: [
    { name: `piscina, ${BEST_TASKS} tasks per thread`, open: () => openPiscinaEcho(2, BEST_TASKS) },
    { name: "piscina, one task per thread (its default)", open: () => openPiscinaEcho(2) },
    { name: "postMessage there and back", open: () => openRawEcho(2) },
    { name: "dispatch of a worker tool", open: () => echoTool(2) },
  ].map((each) => sustained(64, CALLS_EACH, each)),
};

/** The throughput of CPU-bound calls with up to one thread per core. */
const busy: Question = {
  name: "pool-busy",
  scale: "threads",
  cases: threadCounts().flatMap((at): Case[] => {
    const raw = digests(at, `${at} raw threads: sha256 of 1 MiB`, () => rawDigests(at));
    const ours = digests(at, `dispatch of a worker tool, ${at} threads: the same`, () =>
      openEcho("host", { host: { module: SHA256_MODULE } }, { sandboxes: { workers: { threads: at } } }),
    );
    return [
      { ...raw, floor: raw.name },
      { ...ours, floor: raw.name },
    ];
  }),
};

/** The cost if more calls are in flight than the threads can hold. */
const callsInFlight: Question = {
  name: "pool-in-flight",
  scale: "calls in flight",
  cases: IN_FLIGHT.flatMap((at): Case[] => {
    const floor = sustained(at, 4, {
      name: `piscina, ${BEST_TASKS} tasks per thread`,
      open: () => openPiscinaEcho(2, BEST_TASKS),
    });
    const ours = sustained(at, 4, { name: "dispatch of a worker tool", open: () => echoTool(2) });
    return [
      { ...floor, at, floor: floor.name },
      { ...ours, at, floor: floor.name },
    ];
  }),
};

/** The cost of passing large arguments to a thread and back. */
const argumentSizes: Question = {
  name: "pool-argument-sizes",
  scale: "bytes of arguments",
  cases: SIZES.filter((at) => at <= MAX_SIZE).flatMap((at): Case[] => {
    const text = sizedText(at);
    const floor = `${sizeName(at)}: piscina run() of an echo, JSON.parse and JSON.stringify`;
    return [
      { name: floor, at, floor, open: () => sizedPiscinaEcho(text) },
      { name: `${sizeName(at)}: dispatch of a worker tool`, at, floor, open: () => sizedEchoTool(text) },
    ];
  }),
};

/** The questions about the thread pool of host workers, Wasm and QuickJS. */
export const questions: readonly Question[] = [
  roundTrip,
  embedders,
  pinned,
  load,
  busy,
  callsInFlight,
  argumentSizes,
  neighbours,
  busyNeighbour,
];

/** 1, 2, 4 … up to the number of cores. */
function threadCounts(): number[] {
  const counts: number[] = [];
  for (let count = 1; count <= Math.min(16, availableParallelism()); count *= 2) counts.push(count);
  return counts;
}

function digests(at: number, name: string, open: () => Promise<OpenCase>): Case {
  const digest = createHash("sha256")
    .update(Buffer.alloc(2 ** 20, "sandgate"))
    .digest("hex");
  const each: Case = {
    name,
    open: async () => ({
      ...(await open()),
      check: (answer) => strictEqual(typeof answer === "string" ? answer : outputOf(answer), digest),
    }),
  };
  // Two calls per thread, so that the next one is already waiting when one completes. Many calls in total, so that the
  // last ones, which no other follows, do not matter.
  return { ...sustained(at * 2, 32, each), at };
}

async function rawDigests(threads: number): Promise<OpenCase> {
  const raw = await RawThreads.start(threads, SHA256_MODULE);
  return { run: () => raw.run(INPUT), check: () => {}, close: () => raw.close() };
}

function sizedPiscinaEcho(text: string): OpenCase {
  const pool = new Piscina({ filename: ECHO_MODULE.href, minThreads: 1, maxThreads: 1 });
  return {
    run: async () => JSON.stringify(await pool.run(JSON.parse(text))),
    check: (answer) => strictEqual(answer, text),
    close: () => pool.destroy(),
  };
}

async function sizedEchoTool(text: string): Promise<OpenCase> {
  const opened = await openEcho("host", { host: { module: ECHO_MODULE } }, { text, schema: TEXT_SCHEMA });
  return { ...opened, check: (execution) => strictEqual(JSON.stringify(outputOf(execution)), text) };
}
