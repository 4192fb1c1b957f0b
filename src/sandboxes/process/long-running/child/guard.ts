/**
 * The process that waits for an unconfined program. It reads a {@link GuardedProgram} as a line from descriptor 3, starts the
 * program in a session of its own, writes its number as a line to the same descriptor, and then gets letters: `t` asks the
 * program's process group to end, `k` kills all its processes. If the descriptor is closed, because its owner has ended, it
 * kills them too. It exits with the program's exit code, or with 128 and the number of the signal that ended it, when no
 * descendant is left that it can find.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { Socket } from "node:net";
import { constants } from "node:os";
import { setTimeout as wait } from "node:timers/promises";

/** What the guarding process starts. */
export interface GuardedProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Whether descriptor 4 of this process becomes descriptor 3 of the program. */
  readonly hasChannel: boolean;
}

/** What it writes when it knows whether the program began. */
export type GuardReport = { readonly pid: number } | { readonly problem: string };

const CONTROL_FD = 3;
const CHANNEL_FD = 4;
/** Milliseconds between two looks for processes to kill, and how often it looks in vain until it gives up. */
const SWEEP_MS = 5;
const MAX_SWEEPS = 1_000;

/** What a guarding process that can make system calls knows of its descendants, all of which stay below it. */
export interface Descendants {
  readonly kill: () => void;
  /**
   * Reaps ended children. Returns whether any children remain: without children, there are no descendants.
   */
  readonly reap: () => boolean;
}

/**
 * Guards a program until it has ended. Never returns.
 *
 * @param descendants Default: they are looked for in `/proc`, where those that begin meanwhile are missed.
 */
export function guard(descendants?: Descendants): void {
  const control = new Socket({ fd: CONTROL_FD, readable: true, writable: true });
  let text = "";
  let command: ((letters: string) => void) | undefined;
  control.on("data", (chunk: Buffer) => {
    const given = chunk.toString("utf8");
    if (command !== undefined) return command(given);
    text += given;
    const end = text.indexOf("\n");
    if (end === -1) return;
    command = start(JSON.parse(text.slice(0, end)) as GuardedProgram, control, descendants);
    command(text.slice(end + 1));
  });
  const orphaned = (): void => {
    if (command === undefined) process.exit(1);
    command("k");
  };
  control.on("error", () => {});
  control.on("close", orphaned).on("end", orphaned);
}

/** @returns a function that carries out commands, each of which is a letter. */
function start(
  { command, args, env, cwd, hasChannel }: GuardedProgram,
  control: Socket,
  descendants: Descendants | undefined,
): (letters: string) => void {
  const report = (message: GuardReport): void => void control.write(`${JSON.stringify(message)}\n`);
  const child = spawn(command, [...args], {
    env: { ...env },
    cwd,
    detached: true,
    stdio: [0, 1, 2, hasChannel ? CHANNEL_FD : "ignore"],
  });
  child.once("error", (error: NodeJS.ErrnoException) => {
    if (child.pid !== undefined) return;
    report({ problem: `it could not be started (${error.code ?? "unknown"})` });
    control.end(() => process.exit(127));
  });
  const { pid } = child;
  if (pid === undefined) return () => {};
  report({ pid });
  child.once("exit", (code, signal) => {
    const number = signal === null ? undefined : constants.signals[signal];
    const ended = descendants === undefined ? endFound(pid) : endDescendants(pid, descendants);
    void ended.then(() => process.exit(number === undefined ? (code ?? 1) : 128 + number));
  });
  return (letters) => {
    // Its descendants are killed when it has exited.
    if (letters.includes("k")) for (const each of [-pid, pid]) signal(each, "SIGKILL");
    else if (letters.includes("t")) signalGroup(pid, "SIGTERM");
  };
}

/** Kills all descendants of this process until it has no child any more, which nothing can hide. */
async function endDescendants(pid: number, { kill, reap }: Descendants): Promise<void> {
  signalGroup(pid, "SIGKILL");
  for (let isLeft = reap(); isLeft; isLeft = reap()) {
    kill();
    await wait(1);
  }
}

/** Kills the program's process group and all descendants of this process, until no more are found. */
async function endFound(pid: number): Promise<void> {
  for (let sweeps = 0; sweeps < MAX_SWEEPS; sweeps++) {
    signalGroup(pid, "SIGKILL");
    const left = livingDescendants();
    for (const each of left) signal(each, "SIGKILL");
    if (left.length === 0) return;
    await wait(SWEEP_MS);
  }
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  signal(-pid, name);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** The processes below this one that have not ended. */
function livingDescendants(): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined;
    if (parent !== undefined) parents.set(Number(name), parent);
  }
  return [...parents.keys()].filter((pid) => {
    for (let at = parents.get(pid); at !== undefined && at !== 0; at = parents.get(at))
      if (at === process.pid) return true;
    return false;
  });
}

/** The parent of a process; `undefined` if it has ended, or only its exit code is left. */
function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name, in parentheses, can contain any character (proc_pid_stat(5)).
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" || state === "X" ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}
