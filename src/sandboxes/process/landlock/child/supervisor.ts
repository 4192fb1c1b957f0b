/**
 * The process that waits for a program. It writes a byte to descriptor 3 when it is ready, reads a {@link LaunchPlan} as a
 * line from it, which may come much later, starts the program, and then gets letters: `t` asks the program's process group to end, `k` kills all its processes. If the descriptor is closed,
 * it kills them too. All descendants of the program stay descendants of this process (`PR_SET_CHILD_SUBREAPER`), wherever
 * they move: it exits, with the program's exit code, when it has no child any more.
 *
 * After the start it never returns to the event loop: it waits in `poll(2)`.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { extname, join } from "node:path";
import type { LaunchPlan } from "../launch-plan.ts";
import { addressOf, poll, prctl, reapChild, setLimit, succeed, systemCall } from "./c-library.ts";
import { killDescendants } from "./descendants.ts";

const CONTROL_FD = 3;
const STARTED_FD = 4;
/** Becomes descriptor 3 of the program, if the plan says so. */
const CHANNEL_FD = 5;
const PR_SET_CHILD_SUBREAPER = 36;

/** Milliseconds between two checks for ended children, unless a signal arrives, and for processes to kill. */
const REAP_MS = 1_000;
const KILL_MS = 2;
/** Milliseconds between two checks whether the program has been executed, unless a signal arrives. */
const EXECUTED_MS = 2;

const RLIMIT_AS = 9;
const PTRACE_CONT = 7;
const PTRACE_DETACH = 17;
const SIGTRAP = 5;

/** Reads the plan. Exits if the other side is gone, or has already requested the end of the program. */
function readPlan(): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.alloc(65_536);
    const bytes = readSync(CONTROL_FD, chunk);
    if (bytes === 0) process.exit(1);
    const end = chunk.subarray(0, bytes).indexOf("\n");
    chunks.push(chunk.subarray(0, end === -1 ? bytes : end));
    if (end === -1) continue;
    if (end < bytes - 1) process.exit(1);
    return Buffer.concat(chunks).toString("utf8");
  }
}

/** A file in memory, since a pipe has a limited capacity. */
function fileWith(text: string): number {
  const name = Buffer.from("plan\0");
  const fd = succeed("memfd_create", systemCall("memfd_create", addressOf(name), 0));
  writeSync(fd, text);
  return fd;
}

succeed("PR_SET_CHILD_SUBREAPER", prctl(PR_SET_CHILD_SUBREAPER, 1));
writeSync(CONTROL_FD, "r");
const text = readPlan();
const plan = fileWith(text);
const { hasChannel, addressSpaceBytes } = JSON.parse(text) as LaunchPlan;
const given = hasChannel ? [CHANNEL_FD] : [];
const start = join(import.meta.dirname, `confined-start${extname(import.meta.filename)}`);
const child = spawn(process.execPath, [...process.execArgv, start], {
  stdio: [0, 1, 2, plan, STARTED_FD, ...given],
  env: { PATH: "/usr/bin:/bin" },
  // In a session and a process group of its own.
  detached: true,
});
const pid = child.pid;
if (pid === undefined) throw new Error("Node.js cannot be started again");
const program = succeed("pidfd_open", systemCall("pidfd_open", pid, 0));
for (const fd of [0, 1, 2, plan, STARTED_FD, ...given]) closeSync(fd);
// What is opened next gets these numbers.
for (const _ of [0, 1, 2]) openSync("/dev/null", "r+");

let code: number | undefined;
let isEnding = false;
let isConnected = true;
/** With a limit of the address space, the child is traced until it has become the program. */
let isTraced = addressSpaceBytes !== undefined;

for (let hasChildren = true; hasChildren; ) {
  const fds = [...(isConnected ? [CONTROL_FD] : []), ...(code === undefined ? [program] : [])];
  const ready = poll(fds, isEnding ? KILL_MS : isTraced ? EXECUTED_MS : REAP_MS);
  if (isConnected && ready[0]) readControl();
  // Neither its id nor that of its group is reused before it is reaped.
  if (code === undefined && ready[fds.length - 1]) isEnding = true;
  if (isEnding) {
    if (code === undefined) signalGroup("SIGKILL");
    killDescendants();
  }
  hasChildren = reapAll();
}
process.exit(code ?? 1);

function readControl(): void {
  const letters = Buffer.alloc(16);
  const bytes = readSync(CONTROL_FD, letters);
  if (bytes === 0) isConnected = false;
  if (bytes === 0 || letters.includes("k")) isEnding = true;
  else if (letters.includes("t") && code === undefined) signalGroup("SIGTERM");
}

function signalGroup(signal: NodeJS.Signals): void {
  try {
    process.kill(-(pid as number), signal);
  } catch {
    // All its processes have ended.
  }
}

/**
 * Continues the traced child. It stops with SIGTRAP before the first instruction of the program (execve(2)), when its
 * address space can be limited, and otherwise with a signal that it was sent.
 */
function continueStopped(signal: number): void {
  if (signal !== SIGTRAP) {
    systemCall("ptrace", PTRACE_CONT, pid as number, 0, signal);
    return;
  }
  try {
    const bytes = addressSpaceBytes as number;
    setLimit(pid as number, RLIMIT_AS, bytes, bytes);
    succeed("PTRACE_DETACH", systemCall("ptrace", PTRACE_DETACH, pid as number, 0, 0));
    isTraced = false;
  } catch {
    // It never runs without its limit.
    isEnding = true;
  }
}

/** Returns whether there are children. */
function reapAll(): boolean {
  for (let reaped = reapChild(); ; reaped = reapChild()) {
    if (reaped === undefined) return false;
    if (reaped.pid === 0) return true;
    if (reaped.pid !== pid) continue;
    const { status } = reaped;
    if ((status & 0xff) === 0x7f) {
      continueStopped(status >> 8);
      continue;
    }
    code = (status & 0x7f) === 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f);
    isEnding = true;
  }
}
