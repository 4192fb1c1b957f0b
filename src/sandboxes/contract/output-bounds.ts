import type { JsonBounds } from "../../json/bounds.ts";
import { locateRefusal } from "../../json/refusal.ts";

/**
 * Bounds of a guest's output, besides its bytes. Reading a value takes the process time: 1 MiB can contain 350,000
 * empty arrays, or 60,000 objects with different names, which take 60 ms.
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
