import { canonicalText } from "../../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** What a decision on a recorded call depends on, cut out of the line of its record. */
export interface CallLine {
  /** The time of the decision, in milliseconds since the epoch. */
  readonly at: number;
  /** What is between `args` and the name of the next member. It is JSON text if the record is not forged. */
  readonly args: string;
  readonly argumentDigest: string;
  readonly definitionDigest: string;
  readonly principal: JsonObject | undefined;
  /** Canonical JSON; the empty string if there is no principal. */
  readonly principalText: string;
}

/** How canonical records of calls begin and end. */
const START = '{"args":';
const ENDS = ['"type":"tool.call.dispatched"}', '"type":"tool.call.denied"}'] as const;
const DIGEST_NAME = ',"argumentDigest":"';
const TIME_NAME = ',"decidedAt":';
const AT_NAME = '","at":';
const PREV_NAME = ',"prev":"';
const SEQ_NAME = ',"seq":';
const DIGEST_LENGTH = 64;
/** The number of different parts of records that are retained parsed. */
const MAX_CACHED = 2_000;

/**
 * Cuts lines at the names of members, since parsing a whole record takes five times as long. The names of members are in
 * canonical order. What is between `at` and `prev`, and between `prev` and `seq`, is the same in many records, and is
 * parsed once.
 */
export class CallLineReader {
  readonly #decided = new Map<string, Decided | undefined>();
  readonly #callers = new Map<string, Caller | undefined>();

  /** Returns `undefined` if the line has to be parsed: it has another form, or its arguments are sealed. */
  read(line: string): CallLine | undefined {
    if (!line.startsWith(START) || !ENDS.some((end) => line.endsWith(end))) return undefined;
    const argsEnd = line.indexOf(DIGEST_NAME, START.length);
    const digestStart = argsEnd + DIGEST_NAME.length;
    const digestEnd = digestStart + DIGEST_LENGTH;
    if (argsEnd < 0 || !line.startsWith(AT_NAME, digestEnd)) return undefined;
    const atStart = digestEnd + AT_NAME.length;
    const atEnd = line.indexOf(",", atStart);
    const at = Number(line.slice(atStart, atEnd));
    const decidedStart = line.startsWith(TIME_NAME, atEnd) ? atEnd + TIME_NAME.length : undefined;
    const decidedEnd = decidedStart === undefined ? atEnd : line.indexOf(",", decidedStart);
    const decidedAt = decidedStart === undefined ? at : Number(line.slice(decidedStart, decidedEnd));
    const prev = line.indexOf(PREV_NAME, decidedEnd);
    const prevEnd = prev + PREV_NAME.length + DIGEST_LENGTH + 1;
    const seq = line.indexOf(SEQ_NAME, prevEnd);
    if (prev < 0 || seq < 0 || !Number.isSafeInteger(at) || !Number.isSafeInteger(decidedAt))
      return undefined;
    const decided = cached(this.#decided, line.slice(decidedEnd + 1, prev), readDecided);
    const caller = cached(this.#callers, line.slice(prevEnd + 1, seq), readCaller);
    if (decided === undefined || caller === undefined) return undefined;
    const { definitionDigest } = decided;
    const { principal, principalText } = caller;
    const [args, argumentDigest] = [line.slice(START.length, argsEnd), line.slice(digestStart, digestEnd)];
    return { at: decidedAt, args, argumentDigest, definitionDigest, principal, principalText };
  }
}

type Decided = Pick<CallLine, "definitionDigest">;
type Caller = Pick<CallLine, "principal" | "principalText">;

function readDecided({ decidedAt, decision, definitionDigest }: JsonObject): Decided | undefined {
  // The time stands elsewhere in records of calls that were denied or confirmed.
  if (decidedAt !== undefined) return undefined;
  return decision === undefined || typeof definitionDigest !== "string" ? undefined : { definitionDigest };
}

function readCaller({ principal, sealed }: JsonObject): Caller | undefined {
  if (sealed !== undefined) return undefined;
  if (principal === undefined) return { principal, principalText: "" };
  return isJsonObject(principal) ? { principal, principalText: canonicalText(principal) } : undefined;
}

/** Reads members, unless equal ones were read before. */
function cached<Read>(
  all: Map<string, Read | undefined>,
  members: string,
  read: (parsed: JsonObject) => Read | undefined,
): Read | undefined {
  const known = all.get(members);
  if (known !== undefined || all.has(members)) return known;
  if (all.size >= MAX_CACHED) all.clear();
  const parsed = parseText(`{${members}}`);
  const found = parsed !== undefined && isJsonObject(parsed) ? read(parsed) : undefined;
  all.set(members, found);
  return found;
}

/** Returns `undefined` if a text is not JSON. */
export function parseText(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
