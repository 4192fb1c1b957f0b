import { LIST_INDEX, parsePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";

/** The longest text that is one value, or a line of a list, in UTF-16 code units. */
export const MAX_VALUE_LENGTH = 4_096;

const BULLET = /^(?:[-*•]|\d{1,3}[.)]) {1,3}/;
const LABEL = /^[^:]{1,80}: (?=\S)/;

/**
 * Yields the texts and numbers in a field of an output. Of a text with lines, it yields the lines too, without the
 * bullets of a list and a label before the first (`Hotels: Ritz`). Longer texts than {@link MAX_VALUE_LENGTH} are left out.
 *
 * @param field See `ToolField.field`.
 */
export function* fieldValues(output: JsonValue, field: string): Generator<string | number> {
  for (const value of valuesAt(output, field)) {
    if (typeof value === "number") yield value;
    else yield* textsIn(value);
  }
}

/** Yields the whole texts and numbers in a field of an output, of any length. */
export function valuesAt(output: JsonValue, field: string): Generator<string | number> {
  return follow(output, parsePointer(field));
}

function* follow(value: JsonValue, [step, ...others]: readonly string[]): Generator<string | number> {
  if (step === undefined) {
    if (typeof value === "string" || typeof value === "number") yield value;
    else if (Array.isArray(value)) for (const element of value) yield* follow(element, []);
  } else if (Array.isArray(value)) {
    const list = value as readonly JsonValue[];
    if (LIST_INDEX.test(step)) {
      const element = list[Number(step)];
      if (element !== undefined) yield* follow(element, others);
    } else for (const element of list) yield* follow(element, step === "*" ? others : [step, ...others]);
  } else if (isJsonObject(value)) {
    if (step === "*") for (const member of Object.values(value)) yield* follow(member as JsonValue, others);
    else if (Object.hasOwn(value, step)) yield* follow(value[step] as JsonValue, others);
  }
}

/**
 * Yields what a row of an output has in several fields, for each row that has all of them as a text or number. Fields below the
 * same list are of the same element of it.
 *
 * @param fields See `ToolField.field`.
 */
export function rowsAt(
  output: JsonValue,
  fields: readonly string[],
): Generator<readonly (string | number)[]> {
  return followAll(output, fields.map(parsePointer));
}

function* followAll(
  value: JsonValue,
  paths: readonly (readonly string[])[],
): Generator<readonly (string | number)[]> {
  const steps = [...new Set(paths.map(([step]) => step))];
  const [step] = steps;
  if (Array.isArray(value) && !steps.some((each) => each !== undefined && LIST_INDEX.test(each))) {
    const inElement = paths.map((path) => (path[0] === "*" ? path.slice(1) : path));
    for (const element of value as readonly JsonValue[]) yield* followAll(element, inElement);
  } else if (steps.length > 1) {
    yield* productOf(
      steps.map((each) => paths.flatMap((path, place) => (path[0] === each ? [place] : []))),
      (places) =>
        followAll(
          value,
          places.map((place) => paths[place] as readonly string[]),
        ),
    );
  } else if (step === undefined) {
    if (typeof value === "string" || typeof value === "number") yield paths.map(() => value);
  } else {
    const others = paths.map((path) => path.slice(1));
    const members =
      step === "*" && isJsonObject(value)
        ? Object.values(value)
        : typeof value === "object" && value !== null && Object.hasOwn(value, step)
          ? [(value as { readonly [name: string]: JsonValue })[step]]
          : [];
    for (const member of members) if (member !== undefined) yield* followAll(member, others);
  }
}

/** Yields every combination of what groups of fields have, with each field at its place. */
function* productOf(
  [places, ...others]: readonly (readonly number[])[],
  rowsOf: (places: readonly number[]) => Iterable<readonly (string | number)[]>,
): Generator<readonly (string | number)[]> {
  if (places === undefined) {
    yield [];
    return;
  }
  for (const row of rowsOf(places)) {
    for (const rest of productOf(others, rowsOf)) {
      const whole = [...rest];
      for (const [index, place] of places.entries()) whole[place] = row[index] as string | number;
      yield whole;
    }
  }
}

function* textsIn(text: string): Generator<string> {
  if (text.length <= MAX_VALUE_LENGTH) yield text;
  if (!text.includes("\n")) return;
  let isFirst = true;
  for (const written of text.split("\n")) {
    const line = written.trim().replace(BULLET, "");
    if (line !== "" && line.length <= MAX_VALUE_LENGTH) {
      yield line;
      if (isFirst && LABEL.test(line)) yield line.replace(LABEL, "");
    }
    isFirst &&= line === "";
  }
}
