import { types } from "node:util";
import { type BigNumbers, parseAnswer } from "../../json/parse-answer.ts";
import { escapePointer } from "../../json/pointer.ts";
import { type JsonBounds, locateRefusal } from "../../json/refusal.ts";
import { copyPlain, type JsonValue, JsonValueError, type PlainCopy } from "../../json/value.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "./outcome.ts";

/** A checked output of a tool: a new, deeply frozen value, or the reason why the output is refused. */
export type CheckedOutput = {
  /** Bytes of the output as UTF-8 JSON text, plus the bytes that were streamed before. */
  readonly outputBytes: number;
} & (
  | { readonly status: "completed"; readonly output: JsonValue }
  | { readonly status: "limit_exceeded"; readonly limit: "outputBytes" }
  | { readonly status: "failed"; readonly message: string }
);

/** An output as JSON text, or why it cannot be written as such. Threads send it to the process. */
export type EncodedOutput = string | { readonly message: string };

/**
 * Writes the value that a tool returned as JSON text. `undefined` becomes `null`, also in a list, and members
 * that are `undefined` are left out; other values are written as by `JSON.stringify`, except those that JSON
 * cannot represent: their place is reported. Never throws, even if getters or `toJSON` methods do. The driver
 * of QuickJS has the same rule (`quickjs/driver/loss.ts`).
 */
export function encodeOutput(value: unknown): EncodedOutput {
  if (value === undefined) return "null";
  let loss: string | undefined;
  try {
    const text = JSON.stringify(value, function (this: unknown, name: string, written: unknown): unknown {
      loss = findLoss(Reflect.get(this as object, name), written);
      if (loss !== undefined) throw new Error(loss);
      return written;
    });
    if (text !== undefined) return text;
  } catch {
    const found = locateLoss(value) ?? (loss === undefined ? undefined : { loss, place: "" });
    if (found !== undefined) return { message: lossText(found) };
  }
  return { message: "Tool returned a value that is not JSON-serialisable" };
}

/** A value that JSON cannot represent, and the JSON pointer of its place; `""` is the value itself. */
interface Loss {
  readonly loss: string;
  readonly place: string;
}

function lossText({ loss, place }: Loss): string {
  const hint = HINTS.find(([kind]) => loss.startsWith(kind))?.[1] ?? "";
  const at = place === "" || place.length > MAX_PLACE ? "" : ` at ${place}`;
  return `Tool returned ${loss}${at}, which is not JSON-serialisable${hint}`;
}

const FROM_ITERATOR = ": return Array.from(iterator)";

/** What to return instead. */
const HINTS: readonly (readonly [kind: string, hint: string])[] = [
  ["a Map Iterator", FROM_ITERATOR],
  ["a Set Iterator", FROM_ITERATOR],
  ["bytes", ": encode bytes as text, such as base64"],
  ["a Map", ": return Object.fromEntries(map), or a list of its entries"],
  ["a Set", ": return Array.from(set)"],
  ["an Error", ": return its message"],
  ["an Array Iterator", FROM_ITERATOR],
  ["an Iterator Helper", FROM_ITERATOR],
  ["a RegExp String Iterator", FROM_ITERATOR],
  ["a Generator", FROM_ITERATOR],
];

/**
 * Describes a value that JSON cannot represent, such as `a Map`; `undefined` if it can.
 *
 * @param own The value itself.
 * @param written What its `toJSON` returned, or the value.
 */
function findLoss(own: unknown, written: unknown): string | undefined {
  if (ArrayBuffer.isView(own) || types.isAnyArrayBuffer(own)) return `bytes (${withArticle(classOf(own))})`;
  if (types.isDate(own) && written === null) return "an invalid Date";
  switch (typeof written) {
    case "number":
      return Number.isFinite(written) ? undefined : String(written);
    case "bigint":
      return "a BigInt";
    case "function":
      return "a function";
    case "symbol":
      return "a symbol";
    case "object":
      return written === null ? undefined : findLostObject(written);
    default:
      return undefined;
  }
}

function findLostObject(value: object): string | undefined {
  for (const [isKind, name] of EMPTIED) if (isKind(value)) return name;
  if (types.isNumberObject(value)) return findLoss(value, value.valueOf());
  const tag = Reflect.get(value, Symbol.toStringTag) as unknown;
  return typeof tag === "string" && CLASS_NAME.test(tag) && isEmptied(value) ? withArticle(tag) : undefined;
}

/** Finds the first value that JSON cannot represent. */
function locateLoss(root: unknown): Loss | undefined {
  const ancestors: object[] = [];
  const find = (own: unknown, name: string, place: string): Loss | undefined => {
    const written = writtenAs(own, name);
    const loss = findLoss(own, written);
    if (loss !== undefined) return { loss, place };
    if (typeof written !== "object" || written === null) return undefined;
    if (ancestors.includes(written)) return { loss: "a circular reference", place };
    ancestors.push(written);
    for (const key of Object.keys(written)) {
      // `JSON.stringify` ignores other properties of an array.
      if (Array.isArray(written) && !/^\d+$/.test(key)) continue;
      const at = `${place}/${escapePointer(key)}`;
      const found = find(Reflect.get(written, key), key, at);
      if (found !== undefined) return found;
    }
    ancestors.pop();
    return undefined;
  };
  try {
    return find(root, "", "");
  } catch {
    // A getter or a `toJSON` threw, or the stack was too small.
    return undefined;
  }
}

const MAX_PLACE = 200;

function writtenAs(own: unknown, name: string): unknown {
  const hasMembers = (typeof own === "object" && own !== null) || typeof own === "bigint";
  const toJson = hasMembers ? (Reflect.get(Object(own), "toJSON") as unknown) : undefined;
  return typeof toJson === "function" ? Reflect.apply(toJson, own, [name]) : own;
}

/** Includes iterators, such as `Map Iterator`. */
const CLASS_NAME = /^[A-Z][\w ]{0,40}$/;

function classOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/**
 * Whether `JSON.stringify` would lose everything, as with a `Response`. Called only for objects with a class
 * tag.
 */
function isEmptied(value: object): boolean {
  return Object.keys(value).length === 0;
}

function withArticle(name: string): string {
  return `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
}

/** Objects that `JSON.stringify` writes as `{}`, or without their contents. */
const EMPTIED: readonly (readonly [isKind: (value: unknown) => boolean, name: string])[] = [
  [types.isMap, "a Map"],
  [types.isSet, "a Set"],
  [types.isWeakMap, "a WeakMap"],
  [types.isWeakSet, "a WeakSet"],
  [types.isPromise, "a Promise"],
  [types.isRegExp, "a RegExp"],
  [types.isNativeError, "an Error"],
];

/** How an output is checked. */
export interface OutputRules {
  /** Bytes that the tool streamed before; they count against the same budget. Default: 0. */
  readonly streamedBytes?: number;
  /** How to treat numbers that are not exact as doubles. Default: `"refuse"`. */
  readonly bigNumbers?: BigNumbers;
}

/** Checks an output that arrived as JSON text from an untrusted tool. */
export function checkOutput(
  text: string,
  maxBytes: number | undefined,
  { streamedBytes = 0, bigNumbers }: OutputRules = {},
): CheckedOutput {
  const outputBytes = Buffer.byteLength(text) + streamedBytes;
  if (outputBytes > (maxBytes ?? Number.POSITIVE_INFINITY)) {
    return { status: "limit_exceeded", limit: "outputBytes", outputBytes };
  }
  try {
    return { status: "completed", output: parseAnswer(text, { bigNumbers }), outputBytes };
  } catch (error) {
    const why = error instanceof JsonValueError ? `an invalid output: ${error.message}` : "invalid JSON";
    return { status: "failed", message: `Tool returned ${why}`, outputBytes };
  }
}

/**
 * Checks an output that a function in this thread returned. Equivalent to {@link encodeOutput} and
 * {@link checkOutput}, but copies plain values without writing them as text. Never throws.
 *
 * @param streamedBytes As in {@link OutputRules}.
 */
export function checkReturned(
  value: unknown,
  maxBytes: number | undefined,
  streamedBytes: number,
): CheckedOutput {
  const copy = tryCopy(value);
  if (copy === undefined) {
    const encoded = encodeOutput(value);
    if (typeof encoded === "string") return checkOutput(encoded, maxBytes, { streamedBytes });
    return { status: "failed", message: encoded.message, outputBytes: streamedBytes };
  }
  const outputBytes = copy.bytes + streamedBytes;
  if (outputBytes > (maxBytes ?? Number.POSITIVE_INFINITY)) {
    return { status: "limit_exceeded", limit: "outputBytes", outputBytes };
  }
  return { status: "completed", output: copy.value, outputBytes };
}

function tryCopy(value: unknown): PlainCopy | undefined {
  try {
    return copyPlain(value);
  } catch {
    // A getter threw: `encodeOutput` reports it.
    return undefined;
  }
}

/**
 * Bounds of a guest's output in addition to its bytes. Parsing takes time in this process: 1 MiB can contain
 * 350,000 empty arrays, or 60,000 objects with different names, which take 60 ms.
 */
const OUTPUT_BOUNDS: JsonBounds = Object.freeze({
  length: Number.POSITIVE_INFINITY,
  values: 100_000,
  members: 100_000,
  names: 5_000,
});

/** Outputs up to this length are too small to take long. */
const MAX_UNSCANNED_LENGTH = 64 * 1_024;

/**
 * Returns why an output is refused because of its structure; `undefined` if it is accepted. Called in the guest's
 * thread, so that the process parses only what it can parse quickly.
 *
 * @param text The output as JSON text.
 */
export function outputProblem(text: string): string | undefined {
  if (text.length <= MAX_UNSCANNED_LENGTH) return undefined;
  const refusal = locateRefusal(text, OUTPUT_BOUNDS, "structure");
  return refusal && `Tool returned an invalid output: ${refusal.reason}`;
}

/** Returns the outcome of a task whose output was checked. The output's size is added to `before`. */
export function outcomeOf(checked: CheckedOutput, effect: CallEffect, before: ResourceUse): SandboxOutcome {
  const used: ResourceUse = { ...before, outputBytes: checked.outputBytes };
  switch (checked.status) {
    case "completed":
      return { status: "completed", effect, used, output: checked.output };
    case "limit_exceeded":
      return { status: "limit_exceeded", effect, used, limit: checked.limit };
    case "failed":
      return { status: "failed", effect, used, message: checked.message, userVisible: true };
  }
}
