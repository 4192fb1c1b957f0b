import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder } from "../cli/sandgate.ts";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const CONFIG = "toolsets: [basic]\nagents: { a: { tools: [Echo] } }\n";

/** The processes of this machine that sleep for a number of seconds that nothing else uses. */
function sleepers(seconds: number): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`sleep\0${seconds}\0`);
    } catch {
      return false;
    }
  });
}

/** An agent with descendants that leave its process group and its session. */
const script = (seconds: number): string =>
  `setsid sleep ${seconds} & (setsid sh -c 'sleep ${seconds} & sleep ${seconds}' &); trap '' TERM HUP; sleep ${seconds}; sleep ${seconds}`;

async function supervise(
  folder: string,
  isolation: readonly string[],
  seconds: number,
): Promise<ChildProcess> {
  const config = join(folder, "sandgate.yaml");
  const args = ["supervise", "-c", config, ...isolation, "--", "/bin/sh", "-c", script(seconds)];
  const child = spawn(process.execPath, ["--no-warnings", MAIN, ...args], { stdio: "ignore", cwd: folder });
  await expect.poll(() => sleepers(seconds).length, { timeout: 30_000 }).toBe(4);
  return child;
}

const WAYS = [
  ...ISOLATIONS.map(
    (isolation) => [isolation, `sandboxes: { process: { isolation: ${isolation} } }\n`, []] as const,
  ),
  ["nothing", "", ["--unconfined"]] as const,
];

describe.each(
  WAYS,
)("When a supervisor is killed whose agent is confined with %s", (_name, sandboxes, options) => {
  test("the agent ends with all its descendants", async () => {
    const seconds = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
    const folder = await createFolder({ "sandgate.yaml": `${CONFIG}${sandboxes}` });
    const child = await supervise(folder, options, seconds);
    child.kill("SIGKILL");
    await expect.poll(() => sleepers(seconds), { timeout: 20_000 }).toEqual([]);
  });

  test("in the ordinary way, no process is left either", async () => {
    const seconds = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
    const folder = await createFolder({ "sandgate.yaml": `${CONFIG}${sandboxes}` });
    const child = await supervise(folder, options, seconds);
    child.kill("SIGTERM");
    const code = await new Promise((resolve) => child.once("exit", resolve));
    expect(code).toBe(137);
    expect(sleepers(seconds)).toEqual([]);
  });
});
