import type { Figure } from "./figures.ts";
import type { Machine } from "./machine.ts";
import type { Effort, QuestionResult } from "./measure.ts";

/** A whole run, as `--json` prints it. */
export interface Report {
  readonly command: string;
  readonly machine: Machine;
  readonly effort: Effort;
  readonly questions: readonly QuestionResult[];
}

/**
 * The maximum range of the middle half of a floor's rounds, as a share of the median. If it is larger, the machine was
 * busy with something else, and differences between two runs are meaningless.
 */
export const MAX_NOISE = 0.15;

/** Returns the floors of a question that were too noisy. */
export function noisyFloors({ figures }: QuestionResult): readonly Figure[] {
  return figures.filter(({ name, floor, noise }) => name === floor && noise > MAX_NOISE);
}
