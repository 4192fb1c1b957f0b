import type { Case } from "./case.ts";
import { median, middleHalf, type Range, SHARES } from "./statistics.ts";
import type { Round } from "./time-round.ts";

/** The figures of one case: medians over the rounds, times in µs per call. */
export interface Figure {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
  /** The median over rounds of this case's p50 divided by its floor's. */
  readonly ratio: number;
  /** The range of ratios of the middle half of the rounds. */
  readonly spread: Range;
  /** The median over rounds of this case's p50 minus its floor's. */
  readonly beyondFloor: number;
  /** The range of p50 of the middle half of the rounds, as a share of the median. */
  readonly noise: number;
  readonly callsPerSecond: number;
  /** Bytes of heap that one call allocates in the caller's thread. */
  readonly bytes: number;
  /** How many runs are timed together. The percentiles are those of such batches. */
  readonly batch: number;
  /** By percentile: `p0`, `p99.5`. */
  readonly distribution: Readonly<Record<string, number>>;
  readonly observed: Readonly<Record<string, number>>;
  /** The name of the case that is its floor. */
  readonly floor: string;
  /** The case's position on the question's scale. */
  readonly at?: number;
  readonly isPeer?: true;
}

/** A case and its rounds. */
export interface Measured {
  readonly subject: Case;
  readonly rounds: readonly Round[];
}

/** Returns the figures of a question's cases. The first case is the floor of those that do not name one. */
export function figuresOf(measured: readonly Measured[]): Figure[] {
  return measured.flatMap((each) => {
    const floor = floorOf(each.subject, measured);
    return floor === undefined ? [] : [figureOf(each, floor)];
  });
}

function floorOf(subject: Case, measured: readonly Measured[]): Measured | undefined {
  if (subject.floor === undefined) return measured[0];
  return measured.find((each) => each.subject.name === subject.floor);
}

function figureOf({ subject, rounds }: Measured, floor: Measured): Figure {
  const { name, calls = 1, at, isPeer } = subject;
  const times = p50PerCall({ subject, rounds });
  const floors = p50PerCall(floor);
  const ratios = times.map((time, round) => time / (floors[round] ?? Number.NaN));
  const p50 = median(times);
  const { least, most } = middleHalf(times);
  return {
    name,
    p50,
    p99: median(rounds.map((round) => round.p99)) / calls,
    ratio: median(ratios),
    spread: middleHalf(ratios),
    beyondFloor: median(times.map((time, round) => time - (floors[round] ?? Number.NaN))),
    noise: (most - least) / p50,
    callsPerSecond: 1e6 / p50,
    bytes: median(rounds.map(({ bytes }) => bytes)) / calls,
    batch: Math.max(...rounds.map(({ batch }) => batch)),
    distribution: Object.fromEntries(
      SHARES.map((share, i) => [
        `p${share * 100}`,
        median(rounds.map((round) => round.distribution[i] ?? Number.NaN)) / calls,
      ]),
    ),
    observed: medians(rounds.map(({ observed }) => observed)),
    floor: floor.subject.name,
    ...(at !== undefined && { at }),
    ...(isPeer && { isPeer }),
  };
}

function p50PerCall({ subject: { calls = 1 }, rounds }: Measured): number[] {
  return rounds.map(({ p50 }) => p50 / calls);
}

function medians(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = Object.keys(all[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, median(all.map((each) => each[name] ?? Number.NaN))]));
}
