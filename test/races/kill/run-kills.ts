import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { FAULTS, type Fault, faultsOf } from "../check.ts";
import type { ClassResult } from "../run.ts";
import { readVectors, type Vector } from "../vector.ts";
import type { Line } from "./line.ts";

/** Timers kill a vector's processes so often; later only its own crashes do. */
const MAX_TIMED_KILLS = 3;

/** From one vector to the next, so that a few kills reach many classes. It must have no divisor in common with their number. */
const STRIDE = 11;

/** Returns the index of the vector that is played at a place: each of so many vectors comes once before any comes again. */
export function vectorAt(place: number, count: number): number {
  return (place * STRIDE) % count;
}

/** Plays vectors until so many processes were killed (-9). */
export async function runKills(
  count: number,
  seed: number,
  onFault: (vector: Vector, seed: number, faults: readonly Fault[]) => void,
): Promise<{ readonly kills: number; readonly results: readonly ClassResult[] }> {
  const vectors = readVectors();
  const results = new Map<string, { interleavings: number; runs: number; faults: Record<Fault, number> }>();
  let kills = 0;
  for (let index = 0; kills < count; index++) {
    const vectorIndex = vectorAt(index, vectors.length);
    const vector = vectors[vectorIndex] as Vector;
    const folder = mkdtempSync(join(tmpdir(), "sandgate-races-"));
    const crashes = await play(folder, vectorIndex, seed + index * 100);
    kills += crashes;
    const { runs, faults } = await inspect(folder, vector, crashes);
    const result = results.get(vector.class) ?? {
      interleavings: 0,
      runs: 0,
      faults: Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>,
    };
    results.set(vector.class, result);
    result.interleavings++;
    result.runs += runs;
    for (const fault of faults) result.faults[fault]++;
    if (faults.length > 0) onFault(vector, seed + index * 100, faults);
    rmSync(folder, { recursive: true });
  }
  return { kills, results: Array.from(results, ([name, result]) => ({ class: name, ...result })) };
}

/** Starts processes until one comes to the end. Returns how many were killed. */
async function play(folder: string, vectorIndex: number, seed: number): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    const child = spawn(
      process.execPath,
      [
        join(import.meta.dirname, "child.ts"),
        folder,
        `${vectorIndex}`,
        `${seed + attempt}`,
        attempt < MAX_TIMED_KILLS ? "yes" : "no",
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (code === 0) return attempt;
    if (signal !== "SIGKILL") throw new Error(`a process of the race bench ended with ${code ?? signal}`);
  }
}

async function inspect(
  folder: string,
  vector: Vector,
  crashes: number,
): Promise<{ readonly runs: number; readonly faults: readonly Fault[] }> {
  const lines = readFileSync(join(folder, "lines.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line): Line => JSON.parse(line));
  const runs = lines.flatMap((line) => ("run" in line ? line.run : []));
  const hasEnded = lines.some((line) => "hasEnded" in line && line.hasEnded);
  const file = join(folder, "store.db");
  const database = new DatabaseSync(file);
  const rows = database
    .prepare("SELECT value FROM record WHERE key LIKE 'confirmation/%' ORDER BY created")
    .all();
  const confirmationIds = rows.map(({ value }) => JSON.parse(String(value)).confirmation.id as string);
  database.close();
  const store = new SqliteSessionStore(file);
  try {
    return {
      runs: runs.length,
      faults: await faultsOf({ vector, runs, store, confirmationIds, hasEnded, crashes }),
    };
  } finally {
    store.close();
  }
}
