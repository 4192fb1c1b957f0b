import { hash } from "node:crypto";
import { escapePointer, LIST_INDEX, parsePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import type { KnownSource, ToolField } from "../policy/call-history.ts";
import { fieldValues } from "../policy/field-values.ts";

/**
 * Maximum number of values of results that a session remembers for records. What it does not remember is of
 * unknown source.
 */
const MAX_ORIGINS = 20_000;
/**
 * Maximum number of fields that are remembered of a value, and of texts and numbers of a call that a record
 * describes.
 */
const MAX_FIELDS = 4;
const MAX_LOCATED = 100;
const MAX_POINTER = 200;

/**
 * In which fields of earlier results a session's values were, for the records of calls. Values are remembered by their
 * digests.
 */
export class ResultOrigins {
  readonly #sources = new Map<string, KnownSource>();

  /** Learns the values of a result. @param isTainted Whether the model gave a value to a tool of its own before. */
  learn(
    tool: string,
    output: JsonValue,
    untrusted: readonly ToolField[],
    isTainted: (value: string | number) => boolean,
  ): void {
    const marks = untrusted.filter((each) => each.tool === tool).map(({ field }) => namesIn(field));
    for (const { field, value } of fieldsIn(output)) {
      const isMarked = marks.some((mark) => overlap(mark, namesIn(field)));
      for (const each of fieldValues(value, "")) {
        if (!isMarked && isTainted(each)) continue;
        if (!this.#add(each, isMarked ? "untrusted" : [{ tool, field }])) return;
      }
    }
  }

  /** Returns where a value came from; `undefined` if it is not known. */
  find(value: string | number): KnownSource | undefined {
    return this.#sources.get(keyOf(value));
  }

  /** What an outsider wrote anywhere stays untrusted. */
  #add(value: string | number, source: KnownSource): boolean {
    const key = keyOf(value);
    const known = this.#sources.get(key);
    if (known === undefined) {
      if (this.#sources.size >= MAX_ORIGINS) return false;
      this.#sources.set(key, source);
    } else if (typeof source === "string") this.#sources.set(key, source);
    else if (typeof known !== "string" && known.length < MAX_FIELDS) {
      const isNew = source.some(({ tool, field }) =>
        known.every((each) => each.tool !== tool || each.field !== field),
      );
      if (isNew) this.#sources.set(key, [...known, ...source]);
    }
    return true;
  }
}

function keyOf(value: string | number): string {
  return hash("sha256", `${typeof value} ${value}`, "base64");
}

/** Normalises a value as a tool may have done when it stored it: a number is the same as its text. */
export function fold(value: string | number): string {
  const text = String(value).normalize("NFKC").trim().toLowerCase();
  return text !== "" && Number.isFinite(Number(text)) ? String(Number(text)) : text;
}

/** Yields the first texts and numbers of an input, with their pointers. */
export function* locatedIn(
  input: JsonValue,
): Generator<{ readonly pointer: string; readonly value: string | number }> {
  let count = 0;
  for (const each of leavesIn(input, "", escapePointer)) {
    if (++count > MAX_LOCATED) return;
    if (each.pointer.length <= MAX_POINTER) yield each;
  }
}

/** Yields the texts and numbers of an output with their fields, in which `*` stands for every element of a list. */
function* fieldsIn(
  output: JsonValue,
): Generator<{ readonly field: string; readonly value: string | number }> {
  const step = (name: string, isElement: boolean): string | undefined => {
    if (isElement) return "*";
    // As a step, these are no names.
    return name === "*" || LIST_INDEX.test(name) ? undefined : escapePointer(name);
  };
  for (const { pointer: field, value } of leavesIn(output, "", step)) yield { field, value };
}

function* leavesIn(
  value: JsonValue,
  pointer: string,
  step: (name: string, isElement: boolean) => string | undefined,
): Generator<{ readonly pointer: string; readonly value: string | number }> {
  if (typeof value === "string" || typeof value === "number") yield { pointer, value };
  else if (Array.isArray(value) || isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const written = step(name, Array.isArray(value));
      if (written !== undefined && member !== undefined)
        yield* leavesIn(member as JsonValue, `${pointer}/${written}`, step);
    }
  }
}

function namesIn(field: string): readonly string[] {
  return parsePointer(field).filter((step) => step !== "*");
}

/** Whether one of two fields is the other one, or is in it. */
function overlap(one: readonly string[], other: readonly string[]): boolean {
  const length = Math.min(one.length, other.length);
  return one.slice(0, length).every((name, index) => name === other[index]);
}
