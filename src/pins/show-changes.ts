import type { JsonValue } from "../json/value.ts";
import { toTerminalLines } from "../rendering/lines.ts";
import { render } from "../rendering/render.ts";
import { joinShown, shown } from "../rendering/shown.ts";
import { ShownText } from "../rendering/shown-text.ts";
import type { DefinitionChange, ValueChange } from "./compare-definitions.ts";

/** The characters around a change in a long text that are shown. */
const CONTEXT = 40;
/** The most characters of a value that are shown. */
const MAX_CHARS = 2_000;
/** The most values of one definition that are shown. */
const MAX_VALUES = 100;

const TITLES = { tools: "tool", servers: "instructions of server" } as const;

/**
 * Shows what changed in each definition: the old value above the new one. Both are foreign text, in which what is
 * invisible or looks like something else is written out.
 */
export function showChanges(changes: readonly DefinitionChange[]): ShownText {
  return joinShown(changes.flatMap(showDefinition), "\n");
}

/** Shows definitions that are not approved yet, from the first to the last character: a person has to read all of it. */
export function showNewDefinitions(added: readonly DefinitionChange[]): ShownText {
  const all = added.flatMap(({ kind, name, values }) => [
    shown`${TITLES[kind]} '${name}'`,
    ...values.flatMap((value) => showValue(value, Number.POSITIVE_INFINITY)),
  ]);
  return joinShown(all, "\n");
}

function showDefinition({ kind, name, change, values }: DefinitionChange): readonly ShownText[] {
  const left = values.length - MAX_VALUES;
  return [
    shown`${TITLES[kind]} '${name}': ${change}`,
    ...values.slice(0, MAX_VALUES).flatMap((value) => showValue(value, MAX_CHARS)),
    ...(left > 0 ? [shown`  and ${left} more changed values`] : []),
  ];
}

function showValue({ pointer, before, after }: ValueChange, chars: number): readonly ShownText[] {
  const [old, current] = around(textOf(before), textOf(after));
  return [
    shown`  ${pointer === "" ? "the whole definition" : pointer}`,
    ...(old === undefined ? [] : [prefixed("  - ", old, chars)]),
    ...(current === undefined ? [] : [prefixed("  + ", current, chars)]),
  ];
}

function prefixed(mark: string, text: string, chars: number): ShownText {
  return new ShownText(mark + toTerminalLines(render(text, { chars, syntax: "json" })).text);
}

/** As JSON, in which quotes show where a text begins and ends. */
function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

/** Cuts what two texts have in common at both ends, but for a few characters, so that no change is in a part left out. */
function around(
  before: string | undefined,
  after: string | undefined,
): readonly [string | undefined, string | undefined] {
  if (before === undefined || after === undefined) return [before, after];
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const from = Math.max(0, head - CONTEXT);
  const kept = Math.max(0, tail - CONTEXT);
  const cut = (text: string): string =>
    (from > 0 ? "…" : "") + text.slice(from, text.length - kept).toWellFormed() + (kept > 0 ? "…" : "");
  return [cut(before), cut(after)];
}
