import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readJournal } from "../../src/journal/read/read-journal.ts";
import { createFolder } from "../cli/sandgate.ts";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

const CONFIG = `
toolsets: [shell]
agents: { a: { tools: [run_command], fs: [] } }
journal: { directory: journal }
`;

/** How many processes of this machine sleep for a number of seconds that nothing else uses. */
function countSleepers(seconds: number): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`sleep\0${seconds}\0`)
      );
    } catch {
      return false;
    }
  }).length;
}

test.skipIf(ISOLATIONS.length === 0)(
  "when a supervisor is killed, the journal says which call had begun, and its program ends with the agent",
  {
    timeout: 60_000,
  },
  async () => {
    const folder = await createFolder({ "sandgate.yaml": CONFIG });
    const seconds = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
    const args = { command: `sleep ${seconds}; true` };
    const line = JSON.stringify({ op: "tool_call", tool_call_id: "begun", tool: "run_command", args });
    const agent = ["/bin/sh", "-c", `echo '${line}'; sleep ${seconds}; true`];
    const supervise = ["supervise", "-c", join(folder, "sandgate.yaml"), "--", ...agent];
    const child = spawn(process.execPath, ["--no-warnings", MAIN, ...supervise], {
      stdio: "ignore",
      cwd: folder,
    });
    await expect.poll(() => countSleepers(seconds), { timeout: 30_000 }).toBe(2);
    child.kill("SIGKILL");
    await expect.poll(() => countSleepers(seconds), { timeout: 20_000 }).toBe(0);
    const records: Readonly<Record<string, unknown>>[] = [];
    for await (const { entries } of readJournal(join(folder, "journal"))) records.push(...entries);
    expect(records.filter(({ type }) => String(type).startsWith("tool.call"))).toMatchObject([
      { type: "tool.call.dispatched", tool: "run_command", tool_call_id: "begun", args },
    ]);
  },
);
