import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigSource } from "../../../config/source.ts";

/** The parts of a server that are on if they are there. */
interface ServedParts {
  readonly executor?: boolean;
  readonly console?: object | undefined;
}

/**
 * Finds what a reload cannot do: it switches neither the sessions nor the executor beside them, which is an error, nor the
 * console on or off.
 *
 * @param before What the server serves; `undefined` if it has no sessions.
 */
export function reloadProblems(
  source: ConfigSource,
  before: ServedParts | undefined,
  served: ServedParts | undefined,
): readonly ConfigProblem[] {
  if ((before === undefined) !== (served === undefined)) {
    const message = "a reload cannot switch the sessions on or off: restart the server";
    return [source.problem(["server", "sessions"], message)];
  }
  if (before?.executor !== served?.executor) {
    const message = "a reload cannot switch the executor on or off: restart the server";
    return [source.problem(["server", "executor"], message)];
  }
  if ((before?.console === undefined) === (served?.console === undefined)) return [];
  const message = "a reload cannot switch the console on or off: restart the server";
  return [source.problem(["server", "console"], message, "warning")];
}
