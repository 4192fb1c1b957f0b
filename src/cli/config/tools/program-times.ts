import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import { DURATION, described } from "../../../config/described.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigEntry, ConfigPath } from "../../../config/source.ts";
import type { JsonObject } from "../../../json/value.ts";
import { IDLE_FORM, isIdleTime } from "../../../tool/checks/process-problems.ts";
import type { ProcessImplementation } from "../../../tool/implementations/process-implementation.ts";

/** The times of a program, as a config has them. */
export interface ProgramTimes {
  /** The time between SIGTERM and SIGKILL, with a unit, such as `5s`; 0 for none. */
  readonly killGrace?: string | number | undefined;
  /** The time without output and CPU time after which the program is ended. */
  readonly idle?: string | number | undefined;
}

/** The schemas of their members. */
export const PROGRAM_TIMES: JsonObject = {
  killGrace: described(DURATION, "The time between SIGTERM and SIGKILL, up to `60s`. Default: `5s`."),
  idle: described(
    DURATION,
    "The time after which a program that neither writes anything nor uses CPU time is ended. Default: `60s`.",
  ),
};

/**
 * Reads the times of a program.
 *
 * @param path Of the program in the entry.
 * @param problems Receives what is no duration, or out of bounds.
 */
export function readProgramTimes(
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  { killGrace, idle }: ProgramTimes,
  problems: ConfigProblem[],
): Pick<ProcessImplementation, "killGraceMs"> & { readonly idleMs?: number } {
  const killGraceMs = killGrace === undefined ? undefined : parseDuration(killGrace);
  const idleMs = idle === undefined ? undefined : parseDuration(idle);
  if (killGrace !== undefined && killGraceMs === undefined)
    problems.push(entry.problem([...path, "killGrace"], `must be ${DURATION_FORM}`));
  if (idle !== undefined && !isIdleTime(idleMs))
    problems.push(entry.problem([...path, "idle"], `must be ${DURATION_FORM}: ${IDLE_FORM}`));
  return { ...(killGraceMs !== undefined && { killGraceMs }), ...(idleMs !== undefined && { idleMs }) };
}
