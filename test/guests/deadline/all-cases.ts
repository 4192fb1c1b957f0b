import { BULK } from "./bulk.ts";
import { CALLS } from "./calls.ts";
import type { DeadlineCase } from "./deadline-case.ts";
import { HOST_CALLS } from "./host-calls.ts";
import { LOOPS } from "./loops.ts";

/** All components of the corpus. */
export const ALL_CASES: readonly DeadlineCase[] = [...LOOPS, ...BULK, ...CALLS, ...HOST_CALLS];

/** Every `step`th case of each group, from an offset on. */
export function sampleOf(step: number, offset: number): readonly DeadlineCase[] {
  const groups = Map.groupBy(ALL_CASES, ({ group }) => group);
  return [...groups.values()].flatMap((cases) =>
    cases.filter((_, index) => index % step === offset % Math.min(step, cases.length)),
  );
}
