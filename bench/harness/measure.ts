import { busyShare } from "./busy.ts";
import { type Case, NotHereError, type Question } from "./case.ts";
import { CaseChild } from "./case-child.ts";
import { type Figure, figuresOf } from "./figures.ts";
import type { Round } from "./time-round.ts";
import { warmUp } from "./warm-up.ts";

/** How much is measured. */
export interface Effort {
  readonly rounds: number;
  /** How many milliseconds each case runs in each round. */
  readonly roundMs: number;
  /** The maximum warm-up of each case before the first round, in milliseconds. */
  readonly warmUpMs: number;
}

/** The figures of one question. */
export interface QuestionResult {
  readonly suite: string;
  readonly name: string;
  /** The unit of `at` in the figures. */
  readonly scale?: string;
  /** The share of the processors that other processes used before the first round: 0 to 1. */
  readonly busy: number;
  readonly figures: readonly Figure[];
}

/**
 * Measures a question. In each round, the cases take turns, starting with the floor, and each case is divided by the
 * floor of the same round. A change in the machine's speed affects both.
 *
 * @param onMissing Called for each case that is skipped, with the reason.
 */
export async function measure(
  suite: string,
  { name, cases, scale }: Question,
  effort: Effort,
  onMissing: (subject: Case, reason: string) => void,
): Promise<QuestionResult> {
  // In parallel, because nothing is timed yet.
  const opened = await Promise.allSettled(cases.map((subject) => CaseChild.open(suite, name, subject)));
  const children = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  try {
    for (const [index, each] of opened.entries()) {
      if (each.status === "fulfilled") continue;
      if (!(each.reason instanceof NotHereError)) throw each.reason;
      onMissing(cases[index] as Case, each.reason.message);
    }
    const busy = await busyShare();
    for (const child of children) await warmUp(child, effort.warmUpMs);
    const rounds: Round[][] = children.map(() => []);
    for (let round = 0; round < effort.rounds; round++) {
      for (const [index, child] of children.entries()) {
        rounds[index]?.push(await child.round(effort.roundMs));
      }
    }
    const measured = children.map(({ subject }, index) => ({ subject, rounds: rounds[index] ?? [] }));
    return { suite, name, ...(scale !== undefined && { scale }), busy, figures: figuresOf(measured) };
  } finally {
    await Promise.all(children.map((child) => child.close()));
  }
}
