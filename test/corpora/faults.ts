import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";

const DEADLINE_MS = 700;
/** Without the deadline, some take 5 s and more, or never end. */
const GRACE_MS = 3_000;
const MIB = 1_024 * 1_024;
const RESPONSE_CAP = 32 * MIB;

const peer: ChildProcess = spawn(
  process.execPath,
  [`${process.env["SANDGATE_CORPORA"]}/faults/faultd.mjs`, "0"],
  {
    stdio: ["ignore", "pipe", "inherit"],
  },
);
const [started] = (await once(peer.stdout ?? peer, "data")) as [Buffer];
const { port, modes } = JSON.parse(started.toString()) as { port: number; modes: readonly string[] };
const origin = `http://127.0.0.1:${port}`;
const sandboxes = await openSandboxes();
afterAll(async () => {
  await sandboxes.close();
  peer.kill();
});

/** What each fault must be told as; the other modes are statuses. */
const CAUSES: Readonly<Record<string, RegExp>> = {
  "no-response": /wall time limit/,
  delay: /wall time limit/,
  "slow-headers": /wall time limit/,
  "slow-body": /wall time limit/,
  "cl-too-long": /wall time limit/,
  "chunk-no-end": /wall time limit/,
  rst: /connection .* was lost/,
  close: /connection .* was lost/,
  "rst-mid-body": /connection .* was lost/,
  "close-after-headers": /connection .* was lost|invalid HTTP/,
  "cl-too-short": /invalid JSON|invalid HTTP/,
  "cl-duplicate": /invalid HTTP/,
  "cl-negative": /invalid HTTP/,
  "chunk-garbage": /invalid HTTP/,
  "chunk-huge-size": /invalid HTTP|wall time limit/,
  garbage: /invalid HTTP/,
  "header-bomb": /headers that are too large/,
  "body-endless": /output limit/,
  "gzip-bomb": /output limit/,
  "gzip-bad": /does not match its content encoding/,
  html: /invalid JSON/,
  "bad-json": /invalid JSON/,
  "json-proto": /__proto__/,
  "json-deep": /nested deeper|invalid JSON/,
  redirect: /HTTP 302: redirects are not followed/,
  "redirect-loop": /HTTP 302: redirects are not followed/,
  storm: /HTTP 503/,
  "ra-huge": /HTTP 429: e429|HTTP 429/,
};
const COMPLETE: readonly string[] = ["ok", "empty", "204-body", "json-null", "error-as-200", "set-cookie"];

const engine = new ToolDispatchEngine();

async function call(mode: string, method: string, wallTimeMs = DEADLINE_MS): Promise<ToolExecution> {
  const tool = defineTool({
    name: "tool",
    description: "",
    inputSchema: {},
    // The storm is not to be over before the test is.
    remote: { http: { method, url: `${origin}/f/${mode}?mb=256${mode === "storm" ? "&ms=600000" : ""}` } },
  });
  const net = [{ origin, addresses: ["127.0.0.1/32"] }];
  const limits = { wallTimeMs, outputBytes: RESPONSE_CAP };
  const execution = await engine.dispatch(
    { id: `${mode}-${method}`, name: "tool", arguments: { a: 1 } },
    {
      registry: new ToolRegistry().register(tool),
      policy: { check: () => allow({ sandbox: "remote", limits, capabilities: { net } }) },
      sandboxes,
      sessionId: "faults",
    },
  );
  if (execution === null) throw new Error("nobody aborts here");
  return execution;
}

/** How often the peer saw a request of a mode. */
async function requestsOf(mode: string, method: string): Promise<number> {
  const response = await fetch(`${origin}/log`);
  const log = (await response.json()) as readonly { readonly mode: string; readonly method: string }[];
  return log.filter((entry) => entry.mode === mode && entry.method === method).length;
}

let worstMs = 0;
let worstRss = 0;

describe.each(["GET", "POST"])("a %s to a server in the mode", (method) => {
  test.each(modes)("%s ends in time, once, and says why", async (mode) => {
    // The bomb takes its time to be made.
    if (mode === "gzip-bomb") await call(mode, "PUT", 60_000);
    global.gc?.();
    const before = process.memoryUsage.rss();
    let highest = before;
    const sampling = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss());
    }, 10);
    // It ends at the cap, which a busy machine takes a while to reach.
    const deadlineMs = String(CAUSES[mode]).includes("output limit") ? 20_000 : DEADLINE_MS;
    const { success, error, durationMs } = await call(mode, method, deadlineMs);
    clearInterval(sampling);
    highest = Math.max(highest, process.memoryUsage.rss());
    worstMs = Math.max(worstMs, durationMs);
    worstRss = Math.max(worstRss, highest - before);
    expect(durationMs).toBeLessThan(deadlineMs + GRACE_MS);
    expect(highest - before).toBeLessThanOrEqual(2 * RESPONSE_CAP);
    expect(await requestsOf(mode, method)).toBe(1);
    if (COMPLETE.includes(mode)) {
      expect(success).toBe(true);
    } else if (mode === "flaky") {
      expect(error?.message ?? "").toMatch(/^$|connection .* was lost/);
    } else {
      expect(error?.message).toMatch(CAUSES[mode] ?? new RegExp(`^HTTP ${mode}: e${mode}$`));
      expect(error?.message).not.toMatch(/127\.0\.0\.1|\bat .*:\d+|node_modules/);
      expect(["none", method === "GET" ? "none" : "unknown", "committed"]).toContain(error?.effect);
      if (method === "POST") expect(error?.effect).not.toBe("none");
    }
  });
});

test("the figures", () => {
  console.log(
    `faults: ${modes.length} modes by GET and POST; the longest took ${Math.round(worstMs)} ms of ${DEADLINE_MS}, ` +
      `the largest ${Math.round(worstRss / MIB)} MiB at a cap of ${RESPONSE_CAP / MIB} MiB`,
  );
  expect(worstMs).toBeGreaterThan(0);
});
