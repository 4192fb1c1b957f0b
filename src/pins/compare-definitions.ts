import { equalJson } from "../json/equal.ts";
import { escapePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { type DefinitionLock, PINNED_KINDS, type PinnedKind } from "./definition-lock.ts";

/** A value of a definition that changed. */
export interface ValueChange {
  /** A JSON pointer (RFC 6901) into the definition. */
  readonly pointer: string;
  /** `undefined` if there was none. */
  readonly before: JsonValue | undefined;
  /** `undefined` if there is none any more. */
  readonly after: JsonValue | undefined;
}

/** A definition that is not as it was approved. */
export interface DefinitionChange {
  readonly kind: PinnedKind;
  readonly name: string;
  readonly change: "added" | "removed" | "changed";
  /** Every value that differs; of an added or removed definition, its members. */
  readonly values: readonly ValueChange[];
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
