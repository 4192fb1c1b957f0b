import { type Case, NotHereError, type Question } from "./case.ts";
import { CaseChild } from "./case-child.ts";
import { figuresOf } from "./figures.ts";
import type { QuestionResult } from "./report.ts";
import type { Round } from "./time-round.ts";
import { warmUp } from "./warm-up.ts";

/** How much is measured. */
export interface Effort {
  readonly rounds: number;
  /** Milliseconds that each case gets in each round. */
  readonly roundMs: number;
  /** Milliseconds that each case gets at most, before the first round, to become as fast as it will be. */
  readonly warmUpMs: number;
}

/**
 * Measures a question. Rounds are interleaved: each case takes its turn in each round, the floor first, and is
 * divided by the floor of that same round, so that a machine that changes its speed changes both.
 *
 * @param onMissing Hears of each case that is left out, and why.
 */
export async function measure(
  room: string,
  { name, cases, scale }: Question,
  effort: Effort,
  onMissing: (subject: Case, reason: string) => void,
): Promise<QuestionResult> {
  // Side by side, as nothing is timed yet.
  const opened = await Promise.allSettled(cases.map((subject) => CaseChild.open(room, name, subject)));
  const children = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  try {
    for (const [index, each] of opened.entries()) {
      if (each.status === "fulfilled") continue;
      if (!(each.reason instanceof NotHereError)) throw each.reason;
      onMissing(cases[index] as Case, each.reason.message);
    }
    for (const child of children) await warmUp(child, effort.warmUpMs);
    const rounds: Round[][] = children.map(() => []);
    for (let round = 0; round < effort.rounds; round++) {
      for (const [index, child] of children.entries()) {
        rounds[index]?.push(await child.round(effort.roundMs));
      }
    }
    const measured = children.map(({ subject }, index) => ({ subject, rounds: rounds[index] ?? [] }));
    return { room, name, ...(scale !== undefined && { scale }), figures: figuresOf(measured) };
  } finally {
    await Promise.all(children.map((child) => child.close()));
  }
}
