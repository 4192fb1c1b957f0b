import { MAX_DELAY_MS } from "../../base/timers/deadline-timer.ts";
import { DURATION_FORM, formatDuration, parseDuration } from "../../base/units.ts";
import { DURATION, described } from "../../config/described.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, mapOf, type Shape } from "../../config/shape.ts";
import type { ConfigEntry, ConfigSource } from "../../config/source.ts";
import type { ResultBudget } from "../../engine/bounds/result-budget.ts";
import type { ClassTimeouts } from "../../engine/bounds/timeouts.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import { isJsonObject } from "../../json/value.ts";
import { loadRedaction } from "./load-redaction.ts";

/** The parts of a dispatch's context that a config has besides its tools, policy and sandboxes. */
export type ContextOptions = Pick<
  DispatchContext,
  "redaction" | "timeouts" | "unhandledErrors" | "resultBudget"
>;

/** The shape of `timeouts`, unless it is `none`. */
const TIMEOUTS = compileShape(
  mapOf(
    {
      quick: described(DURATION, "That of the classes `none`, `read` and `write`."),
      slow: described(DURATION, "That of the classes `execute`, `network` and `destructive`."),
    },
    ["quick", "slow"],
  ),
);

/** The shape of `timeouts`. */
export const TIMEOUTS_SHAPE: CompiledShape = compileShape({ anyOf: [{ const: "none" }, TIMEOUTS.schema] });

/** The shape of `unhandledErrors`. */
export const UNHANDLED_ERRORS_SHAPE: CompiledShape = compileShape({
  type: "string",
  enum: ["message", "redacted"],
});

/** The shape of `resultBudget`. */
export const RESULT_BUDGET_SHAPE: CompiledShape = compileShape(
  mapOf({
    chars: described(
      { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER, message: "must be 1 or more" },
      "How many characters of a result the model reads. Default: 30,000.",
    ),
    head: described(
      { type: "number", minimum: 0, maximum: 1, message: "must be from 0 to 1" },
      "Which part of them is the beginning of the result; the others are its end. Default: 0.6.",
    ),
  }),
);

/**
 * Loads the entries of a config that go into the context of each dispatch.
 *
 * @param problems Receives every problem.
 */
export function loadContext(source: ConfigSource, problems: ConfigProblem[]): ContextOptions {
  const read = <Value>(shape: Shape, name: keyof ContextOptions): ConfigEntry<Value> | undefined =>
    source.at([name]) === undefined ? undefined : source.read<Value>(shape, problems, [name]);
  const redaction = loadRedaction(source, problems);
  const timeouts = readTimeouts(source, problems);
  const unhandledErrors = read<"message" | "redacted">(UNHANDLED_ERRORS_SHAPE, "unhandledErrors")?.value;
  const resultBudget = read<ResultBudget>(RESULT_BUDGET_SHAPE, "resultBudget")?.value;
  return {
    ...(redaction && { redaction }),
    ...(timeouts && { timeouts }),
    ...(unhandledErrors && { unhandledErrors }),
    ...(resultBudget && { resultBudget }),
  };
}

/** Durations with units: `quick: 60s`. */
type WrittenTimeouts = { readonly [Pace in keyof ClassTimeouts]: string | number };

function readTimeouts(source: ConfigSource, problems: ConfigProblem[]): ClassTimeouts | "none" | undefined {
  const written = source.at(["timeouts"]);
  if (written === undefined || written === "none") return written;
  if (!isJsonObject(written)) {
    problems.push(source.problem(["timeouts"], "timeouts must be `none`, or a map with quick and slow"));
    return undefined;
  }
  const entry = source.read<WrittenTimeouts>(TIMEOUTS, problems, ["timeouts"]);
  if (entry === undefined) return undefined;
  const read = (pace: keyof ClassTimeouts): number => {
    const ms = parseDuration(entry.value[pace]);
    const isFine = ms !== undefined && ms <= MAX_DELAY_MS;
    if (isFine) return ms;
    const form = ms === undefined ? DURATION_FORM : `at most ${formatDuration(MAX_DELAY_MS)}`;
    problems.push(entry.problem([pace], `must be ${form}`));
    return MAX_DELAY_MS;
  };
  return { quick: read("quick"), slow: read("slow") };
}
