import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { numbers } from "./plan.ts";

const CHILD = join(import.meta.dirname, "child.ts");
/** How many programs run in one process. */
const BATCH = 200;
/** No batch asks more often. */
const MAX_LIVES = 200;

/** When a process is killed: whenever all of its programs wait, or at any moment after an answer. */
export type KillMoment = "at every await" | "at any moment";

/** What came of programs whose processes were killed. */
export interface KillReport {
  readonly programs: number;
  readonly kills: number;
  /** Programs that ended as unknown, since they ran when their process was killed. */
  readonly interrupted: number;
  /** What went wrong. */
  readonly faults: readonly string[];
}

interface Result {
  readonly output: unknown;
  readonly error?: { readonly code: string; readonly effect: string; readonly message: string };
}

/**
 * Runs programs once undisturbed, and once in processes that are killed with -9, and compares what came of them.
 *
 * @param restate The URL of the node of Restate that has the stores of the killed processes. Default: they have files.
 */
export async function runKills(
  count: number,
  seed: number,
  moment: KillMoment,
  restate?: string,
): Promise<KillReport> {
  let kills = 0;
  let interrupted = 0;
  const faults: string[] = [];
  for (let done = 0; done < count; done += BATCH) {
    const batch: Batch = { first: seed + done, count: Math.min(BATCH, count - done) };
    const control = await run(batch, "never");
    const killed = await run(batch, moment, restate);
    kills += killed.kills;
    for (let at = batch.first; at < batch.first + batch.count; at++) {
      const expected = control.results[`s${at}`];
      const found = killed.results[`s${at}`];
      const effects = killed.effects.filter((line) => line.startsWith(`s${at} `));
      const expectedEffects = control.effects.filter((line) => line.startsWith(`s${at} `));
      const isInterrupted = found?.error?.message.includes("was interrupted") === true;
      if (isInterrupted) interrupted++;
      if (new Set(effects).size !== effects.length) faults.push(`program ${at}: an effect happened twice`);
      if (isInterrupted && moment === "at any moment") {
        if (!isSubset(effects, expectedEffects)) faults.push(`program ${at}: an effect that nobody allowed`);
        continue;
      }
      const [one, other] = [JSON.stringify(expected), JSON.stringify(found)];
      // A call that was running is unknown to its program, which goes on.
      if (moment === "at any moment" && one !== other && isSubset(effects, expectedEffects)) {
        if (other?.includes("execution_error") === true) {
          interrupted++;
          continue;
        }
      }
      if (one !== other) faults.push(`program ${at}: ${other} in place of ${one}`);
      if (!isSubset(expectedEffects, effects)) faults.push(`program ${at}: an effect is missing`);
    }
  }
  return { programs: count, kills, interrupted, faults };
}

function isSubset(some: readonly string[], all: readonly string[]): boolean {
  return some.every((each) => all.includes(each));
}

interface Batch {
  readonly first: number;
  readonly count: number;
}

interface Outcome {
  readonly results: Readonly<Record<string, Result>>;
  readonly effects: readonly string[];
  readonly kills: number;
}

async function run(
  { first, count }: Batch,
  moment: KillMoment | "never",
  restate?: string,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-kills-"));
  const next = numbers(first);
  let kills = 0;
  try {
    for (let life = 0; life < MAX_LIVES && !existsSync(join(folder, "results.json")); life++) {
      const child = start([folder, String(first), String(count), String(life)], restate);
      const lines = createInterface(child.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]();
      const said = async (): Promise<string | undefined> => (await lines.next()).value as string | undefined;
      const closed = once(child, "close");
      let state = await said();
      if (moment === "never") {
        while (state === "waiting") {
          child.stdin?.write("\n");
          state = await said();
        }
      } else if (state === "waiting") {
        child.stdin?.write("\n");
        if (moment === "at every await") state = await said();
        else await sleep(next(40));
        if (state === "waiting") {
          kills++;
          child.kill("SIGKILL");
        }
      }
      await closed;
    }
    const results = JSON.parse(readFileSync(join(folder, "results.json"), "utf8")) as Outcome["results"];
    const effects = existsSync(join(folder, "effects"))
      ? readFileSync(join(folder, "effects"), "utf8").trim().split("\n")
      : [];
    return { results, effects, kills };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function start(args: readonly string[], restate: string | undefined): ChildProcess {
  return spawn(process.execPath, ["--no-warnings", CHILD, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...(restate !== undefined && { SANDGATE_RESTATE: restate }) },
  });
}
