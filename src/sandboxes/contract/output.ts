import { copyPlain, type PlainCopy } from "../../json/plain-copy.ts";
import { freezeJson, type JsonValue, JsonValueError } from "../../json/value.ts";

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
 * `JSON.stringify`. Never throws, even if getters or `toJSON` methods do.
 */
export function encodeOutput(value: unknown): EncodedOutput {
  if (value === undefined) return "null";
  try {
    return (
      JSON.stringify(value) ?? { message: `Tool returned a ${typeof value}, which is not JSON-serialisable` }
    );
  } catch {
    return { message: "Tool returned a value that is not JSON-serialisable" };
  }
}

/**
 * Checks an output that arrived as JSON text from an untrusted tool.
 *
 * @param streamedBytes Bytes that the tool streamed before; they count against the same budget. Default: 0.
 */
export function checkOutput(text: string, maxBytes: number | undefined, streamedBytes = 0): CheckedOutput {
  const outputBytes = Buffer.byteLength(text) + streamedBytes;
  if (outputBytes > (maxBytes ?? Number.POSITIVE_INFINITY)) {
    return { status: "limit_exceeded", limit: "outputBytes", outputBytes };
  }
  try {
    return { status: "completed", output: freezeJson(JSON.parse(text) as JsonValue), outputBytes };
  } catch (error) {
    const why = error instanceof JsonValueError ? `an invalid output: ${error.message}` : "invalid JSON";
    return { status: "failed", message: `Tool returned ${why}`, outputBytes };
  }
}

/**
 * Checks an output that a function in this thread returned. Equivalent to {@link encodeOutput} and
 * {@link checkOutput}, but copies plain values without writing them as text. Never throws.
 *
 * @param streamedBytes As in {@link checkOutput}.
 */
export function checkReturned(
  value: unknown,
  maxBytes: number | undefined,
  streamedBytes: number,
): CheckedOutput {
  const copy = tryCopy(value);
  if (copy === undefined) {
    const encoded = encodeOutput(value);
    if (typeof encoded === "string") return checkOutput(encoded, maxBytes, streamedBytes);
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
