import { isUtf8 } from "node:buffer";
import { isCanonicalText } from "../../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** A record as it was read from a journal. */
export interface JournalEntry extends JsonObject {
  /** Milliseconds since the epoch. Never earlier than in the record before. */
  readonly at: number;
  /** SHA-256 of the line before, in hexadecimal digits. */
  readonly prev: string;
  /** The number of the record, from 1. */
  readonly seq: number;
  readonly type: string;
}

/** The end of a chain, to which the next record is added. */
export interface ChainHead {
  /** The number of the last record; 0 if none. */
  readonly seq: number;
  /** The digest of the last line. */
  readonly digest: string;
  /** The time of the last record. */
  readonly at: number;
}

/** The digest that the first record of a journal names as that of the line before it. */
export const NO_LINE: string = "0".repeat(64);

/** Reads a line without its newline. Returns `undefined` if it is no record. */
export function parseEntry(line: string): JournalEntry | undefined {
  // Records are canonical. Parsing each of millions of lines that are none would take minutes.
  if (!line.startsWith("{") || !line.endsWith("}")) return undefined;
  let value: JsonValue;
  try {
    value = JSON.parse(line) as JsonValue;
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { at, prev, seq, type } = value;
  const isEntry =
    Number.isSafeInteger(at) &&
    Number.isSafeInteger(seq) &&
    typeof prev === "string" &&
    typeof type === "string" &&
    (seq as number) > 0;
  return isEntry ? (value as JournalEntry) : undefined;
}

/**
 * Whether the line of a record is canonical JSON in UTF-8, as every record is written. Another reader could find other
 * members in one that is not.
 */
export function isCanonicalLine(bytes: Buffer, entry: JournalEntry): boolean {
  return isUtf8(bytes) && isCanonicalText(bytes.toString(), entry);
}

/**
 * The text of a record without the members that depend on its place in the chain. The names of a record's members are
 * in canonical order, so `at`, `prev` and `seq` stand between these parts.
 */
export interface RecordParts {
  /** The members before `at`, each followed by a comma. */
  readonly beforeAt: string;
  /** The members between `at` and `prev`, each followed by a comma. */
  readonly beforePrev: string;
  /** The members between `prev` and `seq`, each followed by a comma. */
  readonly beforeSeq: string;
  /** The members after `seq`, without a final comma. */
  readonly afterSeq: string;
}

/** Returns the canonical line of a record, without its newline. */
export function composeLine(parts: RecordParts, at: number, prev: string, seq: number): string {
  const { beforeAt, beforePrev, beforeSeq, afterSeq } = parts;
  // Joined, since a concatenated text is a tree of its pieces, which takes longer to write.
  return [
    "{",
    beforeAt,
    '"at":',
    at,
    ",",
    beforePrev,
    '"prev":"',
    prev,
    '",',
    beforeSeq,
    '"seq":',
    seq,
    ",",
    afterSeq,
    "}",
  ].join("");
}
