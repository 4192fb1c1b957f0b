import { described, FLAG, TEXTS } from "../../config/described.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { type CompiledShape, compileShape, mapOf, TEXT } from "../../config/shape.ts";
import type { ConfigPath, ConfigSource } from "../../config/source.ts";
import { Redaction, type RedactionOptions } from "../../redaction/redaction.ts";

/** The shape of `redaction`: the options of {@link Redaction}. */
export const REDACTION_SHAPE: CompiledShape = compileShape(
  mapOf({
    names: described(
      TEXTS,
      "Further names of members whose values are secrets. `pin` is also found in `cardPin`, `CARD_PIN` and in texts like `pin=1234`. Default: none.",
    ),
    patterns: described(
      { type: "object", additionalProperties: TEXT },
      "Regular expressions (ECMAScript, linear time) for secrets of your own, by the name that is shown in their place. Default: none.",
    ),
    results: described(FLAG, "Whether the results of calls are redacted as well. Default: `false`."),
    onSecretArgument: described(
      { type: "string", enum: ["pass", "deny"] },
      "Whether a call whose arguments hold a secret is denied. Default: `pass`.",
    ),
  }),
);

/**
 * Loads the `redaction` of a config; `undefined` if it has none, or one with problems.
 *
 * @param problems Receives every problem, with the position of the name or pattern that is wrong.
 */
export function loadRedaction(source: ConfigSource, problems: ConfigProblem[]): Redaction | undefined {
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
