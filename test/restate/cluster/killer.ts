import { setTimeout as sleep } from "node:timers/promises";
import type { Victim } from "./process.ts";
import { pick, type Random } from "./random.ts";

/** The options of {@link killAtRandom}. */
export interface KillOptions {
  readonly victims: readonly Victim[];
  readonly random: Random;
  /** When to kill no more, as `performance.now` says. */
  readonly until: number;
  /** Called right after a kill. Resolves to the time in ms after which calls had their results again. */
  readonly probe: () => Promise<number>;
}

/** What was killed. */
export interface Kills {
  /** How long a victim took to serve again, and a probe that was sent at the kill to have its result; in ms. */
  readonly restartsMs: Readonly<Record<Victim["kind"], readonly number[]>>;
  readonly probesMs: readonly number[];
}

/** Milliseconds from the moment in which a victim serves again to the next kill, at most. */
const LONGEST_PAUSE_MS = 300;

/** Kills (-9) one process after the other, each as soon as the last one serves again. */
export async function killAtRandom({ victims, random, until, probe }: KillOptions): Promise<Kills> {
  const restartsMs: Record<Victim["kind"], number[]> = { node: [], server: [] };
  const probes: Promise<number>[] = [];
  const kinds = [...new Set(victims.map(({ kind }) => kind))];
  while (performance.now() < until) {
    await sleep(random() * LONGEST_PAUSE_MS);
    const kind = pick(random, kinds);
    const victim = pick(
      random,
      victims.filter((each) => each.kind === kind),
    );
    const at = performance.now();
    await victim.kill();
    probes.push(probe());
    await victim.start();
    restartsMs[kind].push(performance.now() - at);
  }
  return { restartsMs, probesMs: await Promise.all(probes) };
}
