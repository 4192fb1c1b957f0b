import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Sandboxes } from "sandgate";
import { runCommand } from "./run-command.ts";

/** Milliseconds after the end of a command at which its descendants are counted. */
const AFTER_MS = 100;

/** Milliseconds after which a command is cancelled, at most: any moment of its start, or of what it does. */
const CANCELLED_MS = 60;

/** How commands leave descendants behind. `$S` sleeps for a number that no other command has. */
const WAYS: Readonly<Record<string, string>> = {
  "in the background": "$S & exit",
  "with a session of their own": "setsid $S & exit",
  "immune to SIGHUP": "nohup $S >/dev/null 2>&1 & exit",
  disowned: "bash -c '$S & disown'; exit",
  "forked twice": "(setsid sh -c '$S & exit' &); exit",
  "without descriptors": "setsid $S </dev/null >/dev/null 2>&1 & exit",
  "ignoring signals": "for i in 1 2 3; do sh -c \"trap '' TERM HUP INT; $S\" & done; exit",
  "of a command that kills itself": "$S & kill -9 $$",
  "of a command that is cancelled": "$S & setsid $S & wait",
  "of a command that is cancelled and ignores it": "trap '' TERM; setsid $S & while :; do :; done",
};

/** The commands that left descendants in one way, and what was left of them. */
export interface Leftovers {
  readonly way: string;
  commands: number;
  /** Commands that did not run. */
  failed: number;
  /** Calls whose end was not confirmed. */
  unconfirmed: number;
  /** Processes that were still there. */
  descendants: number;
}

/** Runs that many commands in the process sandbox, and counts their descendants on this machine afterwards. */
export async function countDescendants(
  sandboxes: Sandboxes,
  count: number,
  inFlight: number,
): Promise<readonly Leftovers[]> {
  const all = Object.keys(WAYS).map(
    (way): Leftovers => ({ way, commands: 0, failed: 0, unconfirmed: 0, descendants: 0 }),
  );
  let begun = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (begun < count) await runOne(sandboxes, all[begun++ % all.length] as Leftovers);
    }),
  );
  return all;
}

async function runOne(sandboxes: Sandboxes, result: Leftovers): Promise<void> {
  const marker = `${1_000_000 + randomBytes(6).readUIntLE(0, 6)}`;
  const script = (WAYS[result.way] as string).replaceAll("$S", `sleep ${marker}`);
  const isCancelled = result.way.includes("cancelled");
  const cancelling = new AbortController();
  const timer = isCancelled ? setTimeout(() => cancelling.abort(), Math.random() * CANCELLED_MS) : undefined;
  const { error, receipt } = await runCommand(sandboxes, {
    program: {
      command: "sh",
      args: ["-c", script],
      input: "none",
      output: "completion",
      killGraceMs: 5,
    },
    signal: cancelling.signal,
  });
  clearTimeout(timer);
  await wait(AFTER_MS);
  result.commands++;
  if (error !== undefined && error.code !== "cancelled") result.failed++;
  if ((receipt.ended ?? "confirmed") !== "confirmed" || receipt.mayStillRun) result.unconfirmed++;
  result.descendants += processesWith(marker);
}

/** What the arguments of the processes of Node.js have that confine a program with Landlock. */
const LANDLOCK_LAUNCHER = "process/landlock/child/";

/**
 * How many launchers are left: processes of bubblewrap that did not get as far as a session of their own, and children of
 * this process for Landlock.
 */
export function launchersLeft(): number {
  const group = statOf("self")?.group;
  return readdirSync("/proc").filter((pid) => {
    const stat = /^\d+$/.test(pid) ? statOf(pid) : undefined;
    if (stat?.group !== group || stat?.state === "Z") return false;
    return stat?.name === "bwrap" || argumentsOf(pid).includes(LANDLOCK_LAUNCHER);
  }).length;
}

function statOf(pid: string) {
  try {
    const [, name, state, , group] =
      /^\d+ \((.*)\) (\S+) (\d+) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
    return { name, state, group };
  } catch {
    return undefined;
  }
}

function processesWith(marker: string): number {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && argumentsOf(pid).includes(marker)).length;
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
