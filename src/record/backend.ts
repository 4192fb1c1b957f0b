import type { MaybePromise } from "../base/promises.ts";

/**
 * Identifies an entry: the name of a table, the owner of the entry, and what the table needs beyond that. Batches that concern
 * the same owner are applied one after the other. Any text is allowed in a part.
 */
export type Key = readonly [table: string, owner: string, ...rest: string[]];

/** Entries that are read or watched together: one, or all those whose keys continue `below` by at least one part. */
export type Range = OwnedRange | { readonly below: readonly [table: string, ...rest: string[]] };

/** A range whose entries have the same owner. */
export type OwnedRange = { readonly key: Key } | { readonly below: Key };

/** What is stored under a key. */
export interface Entry<Value = unknown> {
  /** JSON, or bytes. Frozen, or not to be changed. */
  readonly value: Value;
  /** Grows with each write of any entry, so that it differs between all values that a key ever had. */
  readonly version: number;
  /** The version that the entry began with: says which of two entries was added first. */
  readonly created: number;
}

/** What a range must still have, so that nothing in it was added, changed or removed since it was read. */
export interface Check {
  readonly range: OwnedRange;
  /** The number of its entries. */
  readonly count: number;
  /** The greatest version of its entries; 0 if it has none. */
  readonly version: number;
}

/** Puts a value: JSON, or bytes as a `Uint8Array`. */
export interface Put {
  readonly key: Key;
  readonly value: unknown;
}

/** Puts a value, or removes an entry, or all entries below a key. */
export type Write =
  | Put
  | { readonly key: Key; readonly remove: true }
  | { readonly below: Key; readonly remove: true };

/** What is written together, or not at all. */
export interface Batch {
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
}

/**
 * Stores entries. What it promises: a batch takes effect as a whole, after all of its checks were found to hold, and nothing comes
 * between. It has been written durably when `apply` returns, or its promise resolves. If that fails, nothing was written.
 */
export interface Backend {
  /** Why it cannot be reached or written now, for operators; `undefined` if it can. */
  readonly problem: string | undefined;
  /**
   * Whether only this thread writes, and reading in order to write returns no promise: what was read is then still so when it writes
   * in the same turn, and need not be checked.
   */
  readonly isSerial: boolean;
  /**
   * Returns the entries of each range, in the order of their keys; all ranges are of the same moment.
   *
   * @param isForWrite The entries may also be those of a batch of this process that is not yet durable. A later batch, also an
   *   empty one, is written after it, or fails with it. Default: all that is returned is durable.
   * @throws {RecordError} also as a rejection, if they cannot be read.
   */
  read(ranges: readonly Range[], isForWrite?: boolean): MaybePromise<readonly (readonly Entry[])[]>;
  /**
   * Writes a batch, unless a check fails.
   *
   * @returns the index of the first check that failed; `undefined` if the batch was written.
   * @throws {RecordError} also as a rejection, if it was not written, and {@link RecordOutcomeError} if that is not known.
   */
  apply(batch: Batch): MaybePromise<number | undefined>;
  /**
   * Calls a listener after something in a range may have changed: at least once after the last change, whoever wrote it.
   *
   * @returns a function that removes it.
   */
  watch(range: Range, onChange: () => void): () => void;
  /** Leaves the store. No other method is called later. */
  close(): MaybePromise<void>;
}

/** A store of entries for servers that share their work: they have to know of each other. */
export interface SharedBackend extends Backend {
  /** Identifies this process among those that have the store open. Never used twice. */
  readonly member: string;
  /** How far the clock of the store is ahead of that of this process, in ms, as far as it is known. */
  readonly skewMs: number;
  /**
   * Returns the processes that have the store open and were seen a short time ago, by the clock of the store. One that cannot
   * reach the store for longer is missing, and is there again when it can.
   *
   * @throws {RecordError} also as a rejection.
   */
  members(): MaybePromise<ReadonlySet<string>>;
}

/** Thrown if entries cannot be read or written. `message` says why. */
export class RecordError extends Error {
  override readonly name: string = "RecordError";
}

/** Thrown if the store was closed before it was known whether a batch was written. */
export class RecordOutcomeError extends RecordError {
  override readonly name = "RecordOutcomeError";
}

/** The longest part of a key that is stored as it is. */
const MAX_PART = 160;

/** Returns a text that identifies a key. It is ASCII, and begins with that of each key which it continues, and `/`. */
export function keyText(parts: readonly string[]): string {
  let text = partText(parts[0] ?? "");
  for (let index = 1; index < parts.length; index++) text += `/${partText(parts[index] as string)}`;
  return text;
}

const ESCAPED = /[^\w.:@-]/;

/** Returns a part of a key as it is in its text. */
export function partText(part: string): string {
  if (part.length <= MAX_PART && !ESCAPED.test(part)) return part;
  const text = part.replace(/[^\w.:@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  if (text.length <= MAX_PART) return text;
  const { createHash } = process.getBuiltinModule("node:crypto");
  // No other part has a tilde. UTF-8 would make lone surrogates the same.
  return `~${createHash("sha256").update(text).digest("hex")}`;
}

/** The keys from `from` up to, and without, `to`, in the order of their bytes. */
export interface Bounds {
  readonly from: string;
  readonly to: string;
}

/** Returns which texts of keys a range has: `!` and `/` come before all other characters that continue a part, or end it. */
export function boundsOf(range: Range): Bounds {
  if ("key" in range) {
    const text = keyText(range.key);
    return { from: text, to: `${text}!` };
  }
  const text = keyText(range.below);
  return { from: `${text}/`, to: `${text}0` };
}

/** Returns a check that finds a range as it was read. */
export function checkOf(range: OwnedRange, entries: readonly Entry[]): Check {
  const version = entries.reduce((greatest, entry) => Math.max(greatest, entry.version), 0);
  return { range, count: entries.length, version };
}
