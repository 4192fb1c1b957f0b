import { MAX_DELAY_MS } from "../../base/timers.ts";
import { DURATION_FORM, formatDuration, parseDuration } from "../../base/units.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import {
  type CompiledShape,
  choice,
  compileShape,
  DURATION,
  described,
  FLAG,
  mapOf,
  type Shape,
  TEXT,
  TEXTS,
} from "../../config/shape.ts";
import type { ConfigEntry, ConfigPath, ConfigSource } from "../../config/source.ts";
import type { ClassTimeouts } from "../../engine/bounds.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import { DEFAULT_HEAD, DEFAULT_RESULT_CHARS, type ResultBudget } from "../../engine/result-budget.ts";
import { record } from "../../json/shape.ts";
import { isJsonObject } from "../../json/value.ts";

import { Redaction, type RedactionOptions } from "../../redaction/redaction.ts";

/** The shape of `redaction`: the options of {@link Redaction}. */
export const REDACTION_SHAPE: CompiledShape = compileShape(
  mapOf({
    names: described(
      TEXTS,
      "Further names of members whose values are secrets. `pin` is also found in `cardPin`, `CARD_PIN` and in texts like `pin=1234`. Default: none.",
    ),
    patterns: described(
      record(TEXT),
      "Regular expressions (ECMAScript, linear time) for secrets of your own, by the name that is shown in their place. Default: none.",
    ),
    results: described(FLAG, "Whether the results of calls are redacted as well.", false),
    onSecretArgument: described(
      choice(["pass", "deny"]),
      "Whether a call whose arguments hold a secret is denied.",
      "pass",
    ),
  }),
);

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
      "How many characters of a result the model reads.",
      DEFAULT_RESULT_CHARS,
    ),
    head: described(
      { type: "number", minimum: 0, maximum: 1, message: "must be from 0 to 1" },
      "Which part of them is the beginning of the result; the others are its end.",
      DEFAULT_HEAD,
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

/**
 * Loads the `redaction` of a config; `undefined` if it has none, or one with problems.
 *
 * @param problems Receives every problem, with the position of the name or pattern that is wrong.
 */
function loadRedaction(source: ConfigSource, problems: ConfigProblem[]): Redaction | undefined {
  if (source.at(["redaction"]) === undefined) return undefined;
  const entry = source.read<RedactionOptions>(REDACTION_SHAPE, problems, ["redaction"]);
  if (entry === undefined) return undefined;
  const { names = [], patterns = {} } = entry.value;
  const parts: readonly [ConfigPath, RedactionOptions][] = [
    ...names.map((name, index): [ConfigPath, RedactionOptions] => [["names", index], { names: [name] }]),
    ...Object.entries(patterns).map(([name, pattern]): [ConfigPath, RedactionOptions] => [
      ["patterns", name],
      { patterns: { [name]: pattern } },
    ]),
  ];
  const found = parts.flatMap(([path, options]) => {
    const flaw = flawOf(options);
    return flaw === undefined ? [] : [entry.problem(path, flaw)];
  });
  problems.push(...found);
  return found.length === 0 ? new Redaction(entry.value) : undefined;
}

function flawOf(options: RedactionOptions): string | undefined {
  try {
    new Redaction(options);
    return undefined;
  } catch (error) {
    return (error as TypeError).message;
  }
}
