import { readdirSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { reportProcess } from "../../../src/sandboxes/process/process-report.ts";
import { unavailable } from "./availability.ts";
import { type ProgramCall, runProgram } from "./run-program.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

/** The processes of this machine that sleep for a number of seconds that nothing else uses. */
const SECONDS = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
function survivors(): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`sleep\0${SECONDS}\0`);
    } catch {
      return false;
    }
  });
}

async function run(script: string, killGraceMs?: number, more: Partial<ProgramCall> = {}) {
  return runProgram(sandboxes, {
    program: {
      command: "sh",
      args: ["-c", script],
      input: "none",
      output: "completion",
      ...(killGraceMs !== undefined && { killGraceMs }),
    },
    ...more,
  });
}

const TRAPS_SIGTERM = "trap 'echo seen' TERM; echo ready; while :; do :; done";

describe.skipIf(unavailable)("A program that traps SIGTERM", () => {
  test.each([
    ["200 ms", 200, 200],
    ["5 s, the default", undefined, 5_000],
  ])("sees it at once, and is killed after %s", async (_name, killGraceMs, grace) => {
    const cancelling = new AbortController();
    let cancelledAt = 0;
    const { error, receipt, partialOutput } = await run(TRAPS_SIGTERM, killGraceMs, {
      signal: cancelling.signal,
      onOutput: (text) => {
        if (!text.includes("ready")) return;
        cancelledAt = performance.now();
        cancelling.abort();
      },
    });
    expect(error?.code).toBe("cancelled");
    expect(receipt.ended).toBe("confirmed");
    expect(partialOutput).toBe("ready\nseen\n");
    // It went on for the grace; timers may be some milliseconds early.
    expect(performance.now() - cancelledAt).toBeGreaterThanOrEqual(grace - 20);
  });
});

describe.skipIf(unavailable)("Nothing is left of a program that", () => {
  const sleep = `sleep ${SECONDS}`;

  test.each([
    ["leaves a child in the background", `${sleep} & exit`],
    ["disowns it", `bash -c '${sleep} & disown; exit'`],
    ["makes it immune to SIGHUP", `nohup ${sleep} >/dev/null 2>&1 & exit`],
    ["gives it a session of its own", `setsid ${sleep} & exit`],
    ["forks twice", `(setsid sh -c '${sleep} & exit' &) ; exit`],
    ["closes all descriptors of it", `setsid ${sleep} </dev/null >/dev/null 2>&1 & exit`],
    ["kills itself", `${sleep} & kill -9 $$`],
    [
      "has children that ignore signals",
      `for i in 1 2 3; do sh -c "trap '' TERM HUP INT; ${sleep}" & done; exit`,
    ],
  ])("%s", async (_name, script) => {
    const { error } = await run(script);
    expect(error).toBeUndefined();
    expect(survivors()).toEqual([]);
    const stopped = await run(`${script.replace(/exit$|kill -9 \$\$$/, "")}\nwhile :; do :; done`, 50, {
      limits: { wallTimeMs: 200 },
    });
    expect(stopped.receipt.ended).toBe("confirmed");
    expect(survivors()).toEqual([]);
  });

  test("is stopped at any moment of its start", async () => {
    for (let ms = 0; ms < 40; ms++) {
      const cancelling = new AbortController();
      setTimeout(() => cancelling.abort(), ms);
      const { receipt, error } = await run(`${sleep} & wait`, 0, { signal: cancelling.signal });
      expect(error?.code).toBe("cancelled");
      // Without a grant, it was cancelled before it reached its sandbox.
      expect(receipt.ended ?? "confirmed").toBe("confirmed");
      expect(survivors()).toEqual([]);
    }
  });

  test("fills /tmp, which is bounded", async () => {
    const { output } = await run("head -c 200000000 /dev/zero > /tmp/a; wc -c < /tmp/a; exit 0");
    expect(output).toMatchObject({
      stdout: `${64 * 2 ** 20}\n`,
      stderr: expect.stringMatching(/No space left/),
    });
  });
});

const { pids } = (await reportProcess()).cgroups;
describe.skipIf(unavailable || "reason" in pids)("A fork bomb", () => {
  test("has as many processes as it may have, and ends with the call", async () => {
    const { receipt, error } = await run(`sleep ${SECONDS} & f() { f & f & }; f; wait`, 100, {
      limits: { processes: 30, wallTimeMs: 2_000 },
    });
    if (error !== undefined) expect(error.code).toBe("timeout");
    expect(receipt.ended ?? "confirmed").toBe("confirmed");
    expect(survivors()).toEqual([]);
  });
});
