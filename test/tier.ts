import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** `fast` in `npm test`, `rest` for what only `npm run test:all` runs: see vitest.config.ts. */
    readonly tier: "fast" | "rest";
  }
}

/** For files that are in both tiers: whether this is the run with what `npm test` leaves out. */
export const IS_REST: boolean = inject("tier") === "rest";

/** Returns those of a file's targets that run in this tier. */
export function targetsOfTier<Target>(
  targets: readonly Target[],
  isOfRest: (target: Target) => boolean,
): readonly Target[] {
  return targets.filter((target) => isOfRest(target) === IS_REST);
}
