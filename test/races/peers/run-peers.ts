import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { FAULTS, type Fault } from "../check.ts";
import { interleave } from "../interleave.ts";
import { readVectors, type Vector } from "../vector.ts";
import { World } from "../world.ts";
import { isAboutRestarts, isGrant, whyNotApplicable, without } from "./applicable.ts";
import { Application } from "./application.ts";
import { faultsOfPeer } from "./check-peer.ts";
import type { Peer } from "./peer.ts";
import { Shelf } from "./shelf.ts";

const FOLDER = new URL("../../../bench/peers/", import.meta.url);
/** OpenAI Agents JS is last, because it writes the rejections of others to the console too. */
const MODULES = ["langgraph", "ai-sdk", "openai-agents"];

/** What became of one class of vectors with one library. */
export interface PeerResult {
  readonly class: string;
  readonly interleavings: number;
  readonly runs: number;
  /** How many conversations ended with an error of the library. */
  readonly failures: number;
  readonly faults: Readonly<Record<Fault, number>>;
  /** Why vectors of the class were not played. */
  readonly notApplicable: readonly string[];
}

/** Loads the libraries that are installed in bench/peers, one after another, and calls `onMissing` for the others. */
export async function* loadPeers(
  onMissing: (module: string, reason: string) => void,
): AsyncGenerator<Peer, void, undefined> {
  for (const module of MODULES) {
    try {
      const loaded: { variants: readonly Peer[] } = await import(new URL(`races/${module}.mjs`, FOLDER).href);
      yield* loaded.variants;
    } catch (error) {
      onMissing(module, String(error).split("\n", 1)[0] ?? "");
    }
  }
}

/** Returns the pinned version of a library. */
export function versionOf(peer: Peer): string {
  const path = fileURLToPath(new URL("package.json", FOLDER));
  return JSON.parse(readFileSync(path, "utf8")).dependencies[peer.package];
}

/** How an application uses a library, and what happens to it. */
export interface PeerSetting {
  /** Whether it takes up what concerns a conversation one after another. */
  readonly hasLock: boolean;
  /** Whether processes crash in other classes than the one about restarts. */
  readonly hasCrashes: boolean;
}

/** Plays so many interleavings of each vector with another library. */
export async function runPeer(
  peer: Peer,
  { hasLock, hasCrashes }: PeerSetting,
  count: number,
  seed: number,
  onFault?: (vector: Vector, seed: number, faults: readonly Fault[], log: readonly string[]) => void,
): Promise<readonly PeerResult[]> {
  const sandboxes = await openSandboxes();
  const results = new Map<string, Mutable<PeerResult>>();
  for (const [place, given] of readVectors().entries()) {
    const result = results.get(given.class) ?? emptyResult(given.class);
    results.set(given.class, result);
    const reason = whyNotApplicable(given, peer);
    if (reason !== undefined) {
      result.notApplicable.push(reason);
      continue;
    }
    const keepsCrashes = hasCrashes || isAboutRestarts(given);
    const vector = without(given, (step) => isGrant(step) || (step.do === "crash" && !keepsCrashes));
    for (let index = 0; index < count; index++) {
      const shelf = new Shelf();
      const world = new World(sandboxes);
      const at = seed + place * count + index;
      const open = (store: Shelf, its: World) => new Application(peer, store, its, hasLock);
      const { hasEnded, log } = await interleave(vector, at, { openSubject: open, world, disk: shelf });
      result.interleavings++;
      result.runs += world.runs.length;
      result.failures += shelf.failures.length;
      const faults = faultsOfPeer(vector, world.runs, shelf, hasEnded);
      for (const fault of faults) result.faults[fault]++;
      if (faults.length > 0) onFault?.(vector, at, faults, [...log, ...shelf.failures]);
    }
  }
  await sandboxes.close();
  return [...results.values()];
}

type Mutable<Result> = {
  -readonly [Key in keyof Result]: Result[Key] extends readonly (infer Item)[]
    ? Item[]
    : Result[Key] extends Readonly<Record<Fault, number>>
      ? Record<Fault, number>
      : Result[Key];
};

function emptyResult(name: string): Mutable<PeerResult> {
  const faults = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>;
  return { class: name, interleavings: 0, runs: 0, failures: 0, faults, notApplicable: [] };
}
