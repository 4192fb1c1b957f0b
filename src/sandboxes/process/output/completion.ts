import { constants } from "node:os";
import type { ProgramCompletion } from "../../../tool/implementations/process-implementation.ts";
import { Ends, type KeptText } from "./ends.ts";

/** The most bytes of both outputs together that are kept. */
const MAX_KEPT_BYTES = 1_024 * 1_024;

/** The bytes of a completion as JSON besides its texts, of the notes in these, and of its own note. */
const FRAME_BYTES = 384;

/** What a program writes, as it is kept for a {@link ProgramCompletion}. */
export class CompletionOutput {
  readonly stdout: Ends;
  readonly stderr: Ends;
  readonly #most: number;

  /** @param outputBytes The most bytes of the completion as JSON. */
  constructor(outputBytes: number) {
    this.#most = Math.max(outputBytes - FRAME_BYTES, 0);
    const each = Math.floor(Math.min(this.#most, MAX_KEPT_BYTES) / 4);
    this.stdout = new Ends(each);
    this.stderr = new Ends(each);
  }

  get bytes(): number {
    return this.stdout.bytes + this.stderr.bytes;
  }

  /** Returns the completion of a program that exited with this code, within the bytes that it may have. */
  completion(exitCode: number, note?: string): ProgramCompletion {
    const [stdout, stderr] = this.#fit();
    return {
      ...{ exitCode, signal: signalOf(exitCode), stdout: stdout.text, stderr: stderr.text },
      truncated: !stdout.isWhole || !stderr.isWhole,
      ...(note !== undefined && { note }),
    };
  }

  /** JSON has up to six bytes for a byte of a control character: then less of each text is left. */
  #fit(): readonly [KeptText, KeptText] {
    const half = Math.floor(this.#most / 2);
    const [stdout, stderr] = [this.stdout.text(), this.stderr.text()];
    const [out, err] = [jsonBytes(stdout.text), jsonBytes(stderr.text)];
    if (out + err <= this.#most) return [stdout, stderr];
    // What one of them does not need, the other one gets.
    return [
      within(this.stdout, Math.max(half, this.#most - err), stdout, out),
      within(this.stderr, Math.max(half, this.#most - out), stderr, err),
    ];
  }
}

/** Leaves as much of a text as a number of bytes of JSON holds. */
function within(ends: Ends, most: number, kept: KeptText, bytes: number): KeptText {
  if (bytes <= most) return kept;
  // The number of bytes grows with the length: halve the interval in which it must be.
  let [fits, tooMany] = [0, Math.ceil(kept.text.length)];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (jsonBytes(ends.text(middle).text) <= most) fits = middle;
    else tooMany = middle;
  }
  return ends.text(fits);
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** Shells and bubblewrap exit with 128 + the number of the signal that ended a program. */
function signalOf(exitCode: number): string | null {
  return (exitCode > 128 && SIGNALS.get((exitCode - 128) as never)) || null;
}
