import { types } from "node:util";
import { type BigNumbers, parseAnswer } from "../../json/parse-answer.ts";
import { copyPlain, type PlainCopy } from "../../json/plain-copy.ts";
import { type JsonValue, JsonValueError } from "../../json/value.ts";

/** A checked output of a tool: a new, deeply frozen value, or the reason why the output is refused. */
export type CheckedOutput = {
  /** Bytes of the output as UTF-8 JSON text, with the bytes that were streamed before. */
  readonly outputBytes: number;
} & (
  | { readonly status: "completed"; readonly output: JsonValue }
  | { readonly status: "limit_exceeded"; readonly limit: "outputBytes" }
  | { readonly status: "failed"; readonly message: string }
);

/** An output as JSON text, or why it cannot be written as such. Threads send it to the process. */
export type EncodedOutput = string | { readonly message: string };

/**
 * Writes the value that a tool returned as JSON text. `undefined` becomes `null`; other values are written as by
 * `JSON.stringify`, except those that it would empty in silence: `NaN`, `Infinity`, maps, promises, responses and the like.
 * Never throws, even if getters or `toJSON` methods do.
 */
export function encodeOutput(value: unknown): EncodedOutput {
  if (value === undefined) return "null";
  try {
    const text = JSON.stringify(value, refuseLoss);
    return text ?? { message: `Tool returned a ${typeof value}, which is not JSON-serialisable` };
  } catch (thrown) {
    const what = thrown instanceof LossError ? `${thrown.message}, which` : "a value that";
    return { message: `Tool returned ${what} is not JSON-serialisable` };
  }
}

/** A value would be lost. `message` names its kind. */
class LossError extends Error {}

function refuseLoss(_name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new LossError(String(value));
  if (typeof value !== "object" || value === null) return value;
  for (const [isKind, name] of EMPTIED) if (isKind(value)) throw new LossError(name);
  if (types.isNumberObject(value)) return refuseLoss(_name, value.valueOf());
  const tag = Reflect.get(value, Symbol.toStringTag) as unknown;
  if (typeof tag === "string" && CLASS_NAME.test(tag) && isEmptied(value))
    throw new LossError(withArticle(tag));
  return value;
}

const CLASS_NAME = /^[A-Z]\w{0,40}$/;

/** Whether nothing is left of an object of a built-in class, such as a `Response`. Only such classes have a tag. */
function isEmptied(value: object): boolean {
  return Object.keys(value).length === 0 && !types.isTypedArray(value) && !types.isBoxedPrimitive(value);
}

function withArticle(name: string): string {
  return `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
}

/** Objects that `JSON.stringify` writes as `{}`. */
const EMPTIED: readonly (readonly [isKind: (value: unknown) => boolean, name: string])[] = [
  [types.isMap, "a Map"],
  [types.isSet, "a Set"],
  [types.isWeakMap, "a WeakMap"],
  [types.isWeakSet, "a WeakSet"],
  [types.isPromise, "a Promise"],
  [types.isRegExp, "a RegExp"],
  [types.isNativeError, "an Error"],
  [types.isAnyArrayBuffer, "an ArrayBuffer"],
];

/** How an output is checked. */
export interface OutputRules {
  /** Bytes that the tool streamed before; they count against the same budget. Default: 0. */
  readonly streamedBytes?: number;
  /** How to treat numbers that a double cannot hold. Default: `"refuse"`. */
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
