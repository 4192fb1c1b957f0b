import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { landlockUnavailable } from "../availability.ts";
import { runProgram } from "../run-program.ts";

const LANDLOCK = { process: { isolation: "landlock" } } as const;

/** The supervisors that are children of this process, by their ids. */
function supervisors(): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
      return parent === String(process.pid) && command.includes("landlock/child/supervisor");
    } catch {
      // No process, or one that has ended meanwhile.
      return false;
    }
  });
}

/** How long to wait for a process to start or to end, at most. */
const WAIT = { timeout: 20_000 };

const say = (script: string) =>
  ({ command: "sh", args: ["-c", script], input: "none", output: "text" }) as const;

describe.skipIf(landlockUnavailable)("A supervisor that waits", () => {
  test("is started after a call, and serves the next one, whatever it is granted", async () => {
    await using sandboxes = await openSandboxes(LANDLOCK);
    expect(supervisors()).toEqual([]);
    await runProgram(sandboxes, { program: { ...say("echo $A"), env: { A: "left" } } });
    const [waiting] = await vi.waitUntil(() => supervisors().length === 1 && supervisors(), WAIT);
    const { output } = await runProgram(sandboxes, {
      program: say("echo $PPID $A."),
      capabilities: { fs: [{ directory: import.meta.dirname }] },
    });
    expect(output).toBe(`${waiting} .\n`);
    await vi.waitUntil(() => supervisors().length === 1 && !supervisors().includes(waiting as string), WAIT);
  });

  test("is one of at most two, and all end with the sandbox", async () => {
    const sandboxes = await openSandboxes(LANDLOCK);
    await Promise.all([1, 2, 3, 4].map(() => runProgram(sandboxes, { program: say("true") })));
    await vi.waitUntil(() => supervisors().length === 2, WAIT);
    await sandboxes.close();
    expect(supervisors()).toEqual([]);
  });

  test("is replaced if it has died meanwhile", async () => {
    await using sandboxes = await openSandboxes(LANDLOCK);
    await runProgram(sandboxes, { program: say("true") });
    const [waiting] = await vi.waitUntil(() => supervisors().length === 1 && supervisors(), WAIT);
    process.kill(Number(waiting), "SIGKILL");
    await vi.waitUntil(() => supervisors().length === 0, WAIT);
    // The process can be gone before this one has heard of it.
    await vi.waitUntil(
      async () => (await runProgram(sandboxes, { program: say("echo ran") })).output === "ran\n",
      WAIT,
    );
  });

  test("keeps no process alive: one that never closes its sandboxes exits", () => {
    const at = (path: string): string => pathToFileURL(join(import.meta.dirname, path)).href;
    const code = `
      import { openSandboxes } from "${at("../../../../src/sandboxes/open-sandboxes.ts")}";
      import { runProgram } from "${at("../run-program.ts")}";
      const sandboxes = await openSandboxes({ process: { isolation: "landlock" } });
      const program = { command: "echo", args: ["ran"], input: "none", output: "text" };
      for (let count = 0; count < 2; count++) await runProgram(sandboxes, { program });
      process.stdout.write(JSON.stringify(await runProgram(sandboxes, { program })));
    `;
    const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(stdout).toContain('"ran\\n"');
    expect(status).toBe(0);
  });
});

test.skipIf(landlockUnavailable)(
  "A call that is cancelled before its supervisor is ready has ended, and says so",
  async () => {
    await using sandboxes = await openSandboxes(LANDLOCK);
    const cancelling = new AbortController();
    const running = runProgram(sandboxes, { program: say("sleep 60"), signal: cancelling.signal });
    await vi.waitUntil(() => supervisors().length === 1, { ...WAIT, interval: 0 });
    cancelling.abort();
    const { error, receipt } = await running;
    expect(error).toMatchObject({ code: "cancelled", effect: "none" });
    expect(receipt.ended).toBe("confirmed");
  },
);
