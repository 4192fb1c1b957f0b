import { escapePointer } from "../json/pointer.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { toTerminalLines } from "../rendering/lines.ts";
import { render } from "../rendering/render.ts";
import { joinShown, ShownText, shown } from "../rendering/shown.ts";
import { type DefinitionLock, PINNED_KINDS, type PinnedKind } from "./lock-file.ts";

/** A value of a definition that changed. */
interface ValueChange {
  /** A JSON pointer (RFC 6901) into the definition. */
  readonly pointer: string;
  /** `undefined` if there was none. */
  readonly before: JsonValue | undefined;
  /** `undefined` if it no longer exists. */
  readonly after: JsonValue | undefined;
}

/** A definition that is not as it was approved. */
interface DefinitionChange {
  readonly kind: PinnedKind;
  readonly name: string;
  readonly change: "added" | "removed" | "changed";
  /** Every value that differs; of an added or removed definition, its members. */
  readonly values: readonly ValueChange[];
}

/** The characters around a change in a long text that are shown. */
const CONTEXT = 40;
/** Maximum number of characters of a value that are shown. */
const MAX_CHARS = 2_000;
/** Maximum number of values of one definition that are shown. */
const MAX_VALUES = 100;

/** Names what is pinned: a tool, or what a server says and has besides, by the end of its name. */
function titleOf(kind: PinnedKind, name: string): ShownText {
  if (kind === "tools") return shown`tool '${name}'`;
  const [server = "", list] = name.split("/");
  if (list === "package") return shown`package of server '${server}'`;
  return list === undefined ? shown`instructions of server '${server}'` : shown`of a server, '${name}'`;
}

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
    titleOf(kind, name),
    ...values.flatMap((value) => showValue(value, Number.POSITIVE_INFINITY)),
  ]);
  return joinShown(all, "\n");
}

function showDefinition({ kind, name, change, values }: DefinitionChange): readonly ShownText[] {
  const left = values.length - MAX_VALUES;
  return [
    shown`${titleOf(kind, name)}: ${change}`,
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
  const same = Math.max(0, tail - CONTEXT);
  const cut = (text: string): string =>
    (from > 0 ? "…" : "") + text.slice(from, text.length - same).toWellFormed() + (same > 0 ? "…" : "");
  return [cut(before), cut(after)];
}

/** Returns every definition that differs between two locks, in the order of names. */
export function compareDefinitions(
  before: DefinitionLock,
  after: DefinitionLock,
): readonly DefinitionChange[] {
  return PINNED_KINDS.flatMap((kind) => {
    const names = new Set([...before[kind].keys(), ...after[kind].keys()]);
    return [...names].sort().flatMap((name) => {
      const [old, current] = [before[kind].get(name), after[kind].get(name)];
      if (old?.digest === current?.digest) return [];
      const change = old === undefined ? "added" : current === undefined ? "removed" : "changed";
      return [
        { kind, name, change, values: changedValues(old?.definition ?? {}, current?.definition ?? {}) },
      ];
    });
  });
}

/** Returns every value that differs between two definitions. */
export function changedValues(before: JsonObject, after: JsonObject): readonly ValueChange[] {
  const changes: ValueChange[] = [];
  collect(before, after, "", changes);
  return changes;
}

/** Goes down while both values are objects. Lists are compared as a whole, since their items have no names. */
function collect(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  pointer: string,
  changes: ValueChange[],
): void {
  if (before !== undefined && after !== undefined) {
    if (equalJson(before, after)) return;
    if (isJsonObject(before) && isJsonObject(after)) {
      for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
        collect(memberOf(before, key), memberOf(after, key), `${pointer}/${escapePointer(key)}`, changes);
      }
      return;
    }
  }
  if (before !== undefined || after !== undefined) changes.push({ pointer, before, after });
}

/** Inherited properties are no members. */
function memberOf(value: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
