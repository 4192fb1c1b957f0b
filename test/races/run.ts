import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { FAULTS, type Fault, faultsOf } from "./check.ts";
import { interleave, type OpenSubject } from "./interleave.ts";
import { LossyStore } from "./lossy-store.ts";
import { readVectors, type Vector } from "./vector.ts";
import { World } from "./world.ts";

/** The faults of one class of vectors. */
export interface ClassResult {
  readonly class: string;
  readonly interleavings: number;
  readonly runs: number;
  readonly faults: Readonly<Record<Fault, number>>;
}

/** Runs so many interleavings, as many of each vector, and calls `onFault` for each that went wrong. */
export async function runInterleavings(
  count: number,
  seed: number,
  openSubject: OpenSubject,
  onFault: (vector: Vector, seed: number, faults: readonly Fault[], log: readonly string[]) => void,
  vectors: readonly Vector[] = readVectors(),
): Promise<readonly ClassResult[]> {
  const sandboxes = await openSandboxes();
  const results = new Map<string, { interleavings: number; runs: number; faults: Record<Fault, number> }>();
  for (let index = 0; index < count; index++) {
    const vector = vectors[index % vectors.length] as Vector;
    const result = results.get(vector.class) ?? {
      interleavings: 0,
      runs: 0,
      faults: Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>,
    };
    results.set(vector.class, result);
    const world = new World(sandboxes);
    const disk = new LossyStore();
    const ending = await interleave(vector, seed + index, { openSubject, world, disk });
    result.interleavings++;
    result.runs += world.runs.length;
    const { runs } = world;
    const faults = await faultsOf({
      ...ending,
      vector,
      runs,
      store: disk.current,
      confirmationIds: disk.confirmationIds,
    });
    for (const fault of faults) result.faults[fault]++;
    if (faults.length > 0) onFault(vector, seed + index, faults, ending.log);
  }
  await sandboxes.close();
  return Array.from(results, ([name, result]) => ({ class: name, ...result }));
}
