import { existsSync, readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { expect, test } from "vitest";
import { startUnconfinedProgram } from "../../../../src/sandboxes/process/long-running/unconfined-program.ts";

const canRun = existsSync("/usr/bin/python3") && isBuiltin("node:ffi");
if (!canRun)
  console.warn("Tests of unconfined programs are skipped: they need /usr/bin/python3 and node:ffi");

/** Prints a line, forks, and exits at once, and so does each process that comes of it, in a session of its own. */
const FORKS_ON = `
import os, sys
os.write(1, b"begun\\n")
if os.fork():
    os.read(0, 1)
    os._exit(7)
for fd in 0, 1, 2: os.close(fd)
while True:
    os.setsid()
    if os.fork(): os._exit(0)
`;

/** Whether one of the processes of this machine has the argument, looked at many times: a process can live for microseconds. */
function isRunning(argument: string): boolean {
  return Array.from({ length: 50 }, () => readdirSync("/proc").some((pid) => has(pid, argument))).some(
    Boolean,
  );
}

function has(pid: string, argument: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(argument);
  } catch {
    return false;
  }
}

test.skipIf(!canRun).each([
  ["exits", (program: ReturnType<typeof startUnconfinedProgram>) => void program.stdin.write("x"), 7],
  ["is killed", (program: ReturnType<typeof startUnconfinedProgram>) => void program.stop(0), 137],
])(
  "When an unconfined program %s, a chain of processes that fork and exit at once ends, too",
  async (_how, end, code) => {
    const argument = `chain-${Math.random()}`;
    const program = startUnconfinedProgram({
      command: "/usr/bin/python3",
      args: ["-c", FORKS_ON, argument],
      env: {},
      cwd: "/",
    });
    program.stderr.resume();
    await new Promise((resolve) => program.stdout.once("data", resolve));
    expect(isRunning(argument)).toBe(true);
    end(program);
    expect(await program.ended).toMatchObject({ code });
    expect(isRunning(argument)).toBe(false);
  },
);
