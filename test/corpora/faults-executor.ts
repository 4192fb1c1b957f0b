import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { afterAll, expect, test } from "vitest";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { recordEvents } from "../engine/helpers.ts";
import { callOn } from "../sandboxes/remote/executor-client/setting.ts";

const DEADLINE_MS = 700;
/** Without the deadline, some take 5 s and more, or never end. */
const GRACE_MS = 3_000;
const MIB = 1_024 * 1_024;
const RESPONSE_CAP = 32 * MIB;

const faultd = `${process.env["SANDGATE_CORPORA"]}/faults/faultd.mjs`;
const peer: ChildProcess = spawn(process.execPath, [faultd, "0"], { stdio: ["ignore", "pipe", "inherit"] });
const [started] = (await once(peer.stdout ?? peer, "data")) as [Buffer];
const { port, modes } = JSON.parse(started.toString()) as { port: number; modes: readonly string[] };
const origin = `http://127.0.0.1:${port}`;
const sandboxes = await openSandboxes();
// The first call loads code, which takes longer than the grace on a busy machine.
await callOn(`${origin}/f/warm-up`, "tool", sandboxes, { input: {}, limits: { wallTimeMs: 20_000 } });
afterAll(async () => {
  await sandboxes.close();
  peer.kill();
});

const BROKE = /^The connection to the tool's executor was lost before it responded$/;
const LATE = /^Tool exceeded 700ms wall time limit$/;
const NO_ANSWER = /^The tool's executor sent an invalid response$/;
const TOO_MUCH = /^Tool exceeded 32 MiB output limit$/;

/** What each fault must be told as. Statuses are told as such, and everything else is no answer of an executor. */
const CAUSES: Readonly<Record<string, RegExp>> = {
  "no-response": LATE,
  delay: LATE,
  "slow-headers": LATE,
  "slow-body": LATE,
  "cl-too-long": LATE,
  "chunk-no-end": LATE,
  "chunk-huge-size": /sent an invalid response|wall time limit/,
  rst: BROKE,
  close: BROKE,
  "rst-mid-body": BROKE,
  "close-after-headers": /was lost before it responded|sent an invalid response/,
  "header-bomb": /^The tool's executor sent headers that are too large$/,
  "body-endless": TOO_MUCH,
  "204-body": /^The tool's executor responded with HTTP 204 without a result$/,
  redirect: /^The tool's executor responded with HTTP 302: redirects are not followed$/,
  "redirect-loop": /^The tool's executor responded with HTTP 302: redirects are not followed$/,
  storm: /responded with HTTP 503 without a result|sent an invalid response/,
  "ra-huge": /^The tool's executor responded with HTTP 429 without a result$/,
  flaky: /was lost before it responded|sent an invalid response/,
};

/** The modes in which the peer may have run the call, and still have its result. */
const MAY_BE_LOST = /^(?:50[234]|520|rst|close|close-after-headers|rst-mid-body|flaky)$/;

/** How often the peer saw a call of a mode, and a health check. */
async function requestsOf(mode: string): Promise<{ calls: number; checks: number }> {
  const response = await fetch(`${origin}/log`);
  const log = (await response.json()) as readonly { readonly mode: string; readonly method: string }[];
  const count = (method: string) =>
    log.filter((entry) => entry.mode === mode && entry.method === method).length;
  return { calls: count("POST"), checks: count("GET") };
}

/** The bomb takes its time to be made. */
async function makeBomb(): Promise<void> {
  const request = get(`${origin}/f/gzip-bomb?mb=256`, { method: "PUT" });
  const [response] = await once(request, "response");
  response.destroy();
}

let worstMs = 0;
let worstRss = 0;

test.each(
  modes.flatMap((mode) => [[mode, "an answer"] as const, [mode, "a stream"] as const]),
)("an executor in the mode %s, asked for %s, ends in time, once, and says why", async (mode, kind) => {
  if (mode === "gzip-bomb") await makeBomb();
  const requests = await requestsOf(mode);
  global.gc?.();
  const before = process.memoryUsage.rss();
  let highest = before;
  const sample = (): void => {
    highest = Math.max(highest, process.memoryUsage.rss());
  };
  const sampling = setInterval(sample, 10);
  const { success, error, durationMs } = await callOn(`${origin}/f/${mode}`, "tool", sandboxes, {
    input: { a: 1 },
    limits: { wallTimeMs: DEADLINE_MS, outputBytes: RESPONSE_CAP },
    context: kind === "a stream" ? { events: recordEvents().events } : {},
  });
  clearInterval(sampling);
  sample();
  worstMs = Math.max(worstMs, durationMs);
  worstRss = Math.max(worstRss, highest - before);
  expect(success).toBe(false);
  expect(durationMs).toBeLessThan(DEADLINE_MS + GRACE_MS);
  expect(highest - before).toBeLessThanOrEqual(2 * RESPONSE_CAP);
  const { calls, checks } = await requestsOf(mode);
  expect(calls - requests.calls).toBe(1);
  // After a lost result, one check finds out whether the peer is an executor that can be asked again. It is not.
  expect(checks - requests.checks).toBeLessThanOrEqual(MAY_BE_LOST.test(mode) ? 1 : 0);
  const status = /^[45]\d\d$/.test(mode)
    ? new RegExp(`^The tool's executor responded with HTTP ${mode} without a result$`)
    : NO_ANSWER;
  expect(error?.message).toMatch(CAUSES[mode] ?? status);
  expect(error?.effect).toBe("unknown");
});

test("the figures", () => {
  console.log(
    `faults through an executor: ${modes.length} modes; the longest took ${Math.round(worstMs)} ms of ` +
      `${DEADLINE_MS}, the largest ${Math.round(worstRss / MIB)} MiB at a cap of ${RESPONSE_CAP / MIB} MiB`,
  );
  expect(worstMs).toBeGreaterThan(0);
});
