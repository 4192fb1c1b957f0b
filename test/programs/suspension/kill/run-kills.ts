import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { numbers } from "./plan.ts";

const CHILD = join(import.meta.dirname, "child.ts");
/** How many programs run in one process. More could have more confirmations open than sessions allow. */
const BATCH = 320;
/** How many batches run at once, each with one process that is killed and one that is not. */
const AT_ONCE = 2;
/** No batch asks more often. */
const MAX_LIVES = 200;

/** When a process is killed: whenever all of its programs wait, or at any moment after an answer. */
export type KillMoment = "at every await" | "at any moment";

/** What came of programs whose processes were killed. */
export interface KillReport {
  readonly programs: number;
  /** Processes that were killed. */
  readonly kills: number;
  /** Programs that waited in a process when it was killed, counted for each kill. Only for kills at every await. */
  readonly interruptions: number;
  /** Programs that ended as unknown, since they ran when their process was killed. */
  readonly interrupted: number;
  /** What went wrong. */
  readonly faults: readonly string[];
}

interface Result {
  readonly output: unknown;
  readonly error?: { readonly code: string; readonly effect: string; readonly message: string };
}

/** What a run of {@link runKills} can have. */
export interface KillOptions {
  /** The URL of the node of Restate that has the stores of the killed processes. Default: they have files. */
  readonly restate?: string | undefined;
  /** Is told whenever more programs have ended. */
  readonly onProgress?: (report: KillReport) => void;
}

/**
 * Runs programs once undisturbed, and once in processes that are killed with -9, and compares what came of them.
 *
 * @param first The seed of the first program; those that follow have the seeds that follow.
 */
export async function runKills(
  count: number,
  first: number,
  moment: KillMoment,
  { restate, onProgress }: KillOptions = {},
): Promise<KillReport> {
  let report: KillReport = { programs: 0, kills: 0, interruptions: 0, interrupted: 0, faults: [] };
  let begun = 0;
  // Code that is compiled once starts faster, and a killed process keeps nothing that it compiled.
  const cache = mkdtempSync(join(tmpdir(), "sandgate-kills-cache-"));
  const runBatches = async (): Promise<void> => {
    while (begun < count) {
      const batch: Batch = { first: first + begun, count: Math.min(BATCH, count - begun) };
      begun += batch.count;
      const [control, killed] = await Promise.all([
        run(batch, "never", { cache }),
        run(batch, moment, { cache, restate }),
      ]);
      report = add(report, compare(batch, moment, control, killed));
      onProgress?.(report);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, runBatches));
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
  return report;
}

function add(one: KillReport, other: KillReport): KillReport {
  return {
    programs: one.programs + other.programs,
    kills: one.kills + other.kills,
    interruptions: one.interruptions + other.interruptions,
    interrupted: one.interrupted + other.interrupted,
    faults: [...one.faults, ...other.faults],
  };
}

function compare({ first, count }: Batch, moment: KillMoment, control: Outcome, killed: Outcome): KillReport {
  let interrupted = 0;
  const faults: string[] = [];
  for (let at = first; at < first + count; at++) {
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
  return { programs: count, kills: killed.kills, interruptions: killed.interruptions, interrupted, faults };
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
  readonly interruptions: number;
}

interface Environment {
  /** The folder for compiled code. */
  readonly cache: string;
  readonly restate?: string | undefined;
}

async function run(
  { first, count }: Batch,
  moment: KillMoment | "never",
  environment: Environment,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-kills-"));
  const next = numbers(first);
  let kills = 0;
  let interruptions = 0;
  try {
    for (let life = 0; life < MAX_LIVES && !existsSync(join(folder, "results.json")); life++) {
      const child = start([folder, String(first), String(count), String(life)], environment);
      const lines = createInterface(child.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]();
      const said = async (): Promise<string | undefined> => (await lines.next()).value as string | undefined;
      const closed = once(child, "close");
      let state = await said();
      if (moment === "never") {
        while (isWaiting(state)) {
          child.stdin?.write("\n");
          state = await said();
        }
      } else if (isWaiting(state)) {
        // The first life is killed before anything was answered, so that no await of a program is left out.
        const isFirst = life === 0 && moment === "at every await";
        if (!isFirst) child.stdin?.write("\n");
        if (moment === "at any moment") await sleep(next(40));
        else if (!isFirst) state = await said();
        if (isWaiting(state)) {
          kills++;
          if (moment === "at every await") interruptions += Number(state?.split(" ")[1]);
          child.kill("SIGKILL");
        }
      }
      await closed;
    }
    const results = JSON.parse(readFileSync(join(folder, "results.json"), "utf8")) as Outcome["results"];
    const effects = existsSync(join(folder, "effects"))
      ? readFileSync(join(folder, "effects"), "utf8").trim().split("\n")
      : [];
    return { results, effects, kills, interruptions };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isWaiting(state: string | undefined): boolean {
  return state?.startsWith("waiting ") === true;
}

function start(args: readonly string[], { cache, restate }: Environment): ChildProcess {
  return spawn(process.execPath, ["--no-warnings", CHILD, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: cache,
      ...(restate !== undefined && { SANDGATE_RESTATE: restate }),
    },
  });
}
