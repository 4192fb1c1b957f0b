import { type Case, NotHereError, type Question } from "./case.ts";
import { CaseChild } from "./case-child.ts";
import { figuresOf } from "./figures.ts";
import type { QuestionResult } from "./report.ts";
import type { Round } from "./time-round.ts";

/** How much is measured. */
export interface Effort {
  readonly rounds: number;
  /** Milliseconds that each case gets in each round. */
  readonly roundMs: number;
}

const WARM_UP_MS = 200;

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
  const children: CaseChild[] = [];
  try {
    for (const subject of cases) {
      try {
        children.push(await CaseChild.open(room, name, subject));
      } catch (error) {
        if (!(error instanceof NotHereError)) throw error;
        onMissing(subject, error.message);
      }
    }
    // Code is compiled for what it is seen to do.
    for (const child of children) await child.round(Math.max(effort.roundMs, WARM_UP_MS));
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
