import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json/value.ts";
import type { UntrustedResult } from "../../src/policy/rule/rule.ts";
import type { RecordedCall, RecordedTask } from "./traces.ts";

/** Where an attack is written: into free text, or into fields that outsiders fill in, such as a sender. */
export type Place = "text" | "fields";

/**
 * Returns the calls of a task with an attack in the first output that outsiders can write; `undefined` if there is none.
 * In `text`, it is the attacker's words and, as lines, every text and number of the attack's calls, in the longest text of
 * the output. In `fields`, the output has further rows, in whose other texts stand the same, each as a whole value.
 */
export function plant(
  { calls }: RecordedTask,
  attack: RecordedTask,
  untrusted: readonly UntrustedResult[],
  place: Place,
): readonly RecordedCall[] | undefined {
  for (const [index, call] of calls.entries()) {
    const marks = untrusted.filter(({ tool }) => tool === call.name);
    const texts = marks.length === 0 ? [] : writableTexts(call.output, marks);
    if (texts.length === 0) continue;
    const output =
      place === "text" ? inText(call.output, texts, attack) : inFields(call.output, texts, attack);
    return calls.with(index, { ...call, output });
  }
  return undefined;
}

type Path = readonly (string | number)[];
interface Located {
  readonly path: Path;
  readonly text: string;
}

/** The texts of an output that outsiders can write. */
function writableTexts(output: JsonValue, marks: readonly UntrustedResult[]): readonly Located[] {
  const fields = marks
    .flatMap(({ fields: named }) => named ?? [""])
    .map((field) => field.split("/").slice(1));
  return textsIn(output).filter(({ path }) => {
    const names = path.filter((step) => typeof step === "string");
    return fields.some((field) => field.filter((step) => step !== "*").every((step, i) => step === names[i]));
  });
}

function textsIn(value: JsonValue, path: Path = []): Located[] {
  if (typeof value === "string") return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((each: JsonValue, index) => textsIn(each, [...path, index]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => textsIn(each ?? null, [...path, name]));
}

function inText(output: JsonValue, texts: readonly Located[], attack: RecordedTask): JsonValue {
  const longest = texts.reduce((best, each) => (each.text.length > best.text.length ? each : best));
  return replaced(output, longest.path, `${longest.text}\n\n${[...plantedBy(attack)].join("\n")}\n`);
}

function inFields(output: JsonValue, texts: readonly Located[], attack: RecordedTask): JsonValue {
  const values = plantedBy(attack);
  if (!Array.isArray(output)) {
    // There is one of each field, so that it has a line for each value.
    const lines = [...values].join("\n");
    return texts.reduce((result, { path, text }) => replaced(result, path, `${text}\n${lines}`), output);
  }
  const last = texts.at(-1)?.path[0] as number;
  const row = (output as readonly JsonValue[])[last] as JsonValue;
  const own = texts.filter(({ path }) => path[0] === last).map(({ path }) => path.slice(1));
  const further = Array.from(values, (value) =>
    own.reduce((result, path) => replaced(result, path, value), row),
  );
  return [...(output as readonly JsonValue[]), ...further];
}

/** The attacker's words, and the values of the attack's calls. */
function plantedBy({ goal, calls }: RecordedTask): ReadonlySet<string> {
  return new Set([goal, ...calls.flatMap(({ arguments: input }) => valuesOf(input))]);
}

function valuesOf(value: JsonValue): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(valuesOf);
  return isJsonObject(value)
    ? Object.values(value as JsonObject).flatMap((each) => valuesOf(each ?? null))
    : [];
}

function replaced(value: JsonValue, [step, ...others]: Path, text: string): JsonValue {
  if (step === undefined) return text;
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).with(
      Number(step),
      replaced(value[Number(step)] ?? null, others, text),
    );
  }
  return { ...(value as JsonObject), [step]: replaced((value as JsonObject)[step] ?? null, others, text) };
}
