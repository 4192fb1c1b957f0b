import type { RecordedOutcome, SessionCall } from "../../engine/call/journal.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { namesIn, namesOf } from "../line/call-parts.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { refuseNewerFormat } from "../line/event-parts.ts";
import { listFiles } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";

/** Records are never earlier than the ones before, but a call can be received before the clock is set back. */
const CLOCK_SLACK_MS = 86_400_000;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/**
 * Returns what a journal has of calls of sessions, in the order of the calls; `undefined` for those that are not recorded
 * as begun.
 *
 * @param since Milliseconds since the epoch: none of the calls was received before.
 * @throws {JournalError} if a file cannot be read.
 */
export async function findCalls(
  directory: string,
  calls: readonly SessionCall[],
  since: number,
): Promise<readonly (RecordedOutcome | undefined)[]> {
  const wanted = new Map(calls.map((call) => [keyOf(namesOf(call)), call]));
  const found = new Map<string, Mutable<RecordedOutcome>>();
  const file = await firstFile(directory, since - CLOCK_SLACK_MS);
  for await (const { entries } of readJournal(directory, { file, offset: 0 })) {
    for (const entry of entries) {
      // Nested calls have the message of their caller.
      if (entry["message"] === undefined || entry["parent"] !== undefined) continue;
      const key = keyOf(namesIn(entry));
      const call = wanted.get(key);
      if (call !== undefined) follow(entry, call, key, found);
    }
  }
  return calls.map((call) => found.get(keyOf(namesOf(call))));
}

function follow(
  entry: JournalEntry,
  { principal }: SessionCall,
  key: string,
  found: Map<string, Mutable<RecordedOutcome>>,
): void {
  if (entry.type === "tool.call.dispatched" && principalOf(entry) === principal) {
    found.set(key, { sideEffects: entry["sideEffects"] as RecordedOutcome["sideEffects"] });
  }
  const begun = found.get(key);
  // The journal itself writes the end of an interrupted call, which it does not know.
  if (entry.type !== "tool.call.ended" || begun === undefined || entry["interrupted"] === true) return;
  const { code, effect } = entry as JsonObject & Partial<NonNullable<RecordedOutcome["end"]>>;
  begun.end ??= {
    success: code === undefined,
    ...(code !== undefined && { code }),
    ...(effect !== undefined && { effect }),
  };
}

function principalOf({ principal }: JournalEntry): unknown {
  return principal !== undefined && isJsonObject(principal) ? principal["id"] : undefined;
}

/** The first file that can have records since a time; the empty string if all can. */
async function firstFile(directory: string, since: number): Promise<string> {
  const files = await listFiles(directory);
  for (const { path } of files.reverse()) {
    const at = await timeOfFirst(path);
    if (at !== undefined && at < since) return path;
  }
  return "";
}

async function timeOfFirst(path: string): Promise<number | undefined> {
  for await (const [first] of new LineReader(path).batches()) {
    return first && parseEntry(first.bytes.toString())?.at;
  }
  return undefined;
}

function keyOf({ session, turn, message, tool_call_id: callId, tool }: ReturnType<typeof namesOf>): string {
  return JSON.stringify([session, turn, message, callId, tool]);
}

/** A place in a journal, from which it can be read on. */
export interface JournalPosition {
  readonly file: string;
  /** The position of a line in the file. */
  readonly offset: number;
}

/** Records that were read, and where to continue. */
export interface JournalBatch {
  readonly entries: readonly JournalEntry[];
  readonly next: JournalPosition;
}

/**
 * Reads the records of a journal, which may be in use, in batches. Lines that are no records are left out: `verifyJournal`
 * finds them.
 *
 * @param from Where to begin: the `next` of an earlier batch. Default: the first record.
 * @throws {JournalError} if a file cannot be read, or has a newer format.
 */
export async function* readJournal(
  directory: string,
  from?: JournalPosition,
): AsyncGenerator<JournalBatch, void, undefined> {
  for (const { path } of await listFiles(directory)) {
    if (from !== undefined && path < from.file) continue;
    const reader = new LineReader(path);
    for await (const lines of reader.batches(path === from?.file ? from.offset : 0)) {
      const last = lines.at(-1);
      const entries = lines
        .map(({ bytes }) => parseEntry(bytes.toString()))
        .filter((entry) => entry !== undefined);
      for (const entry of entries) refuseNewerFormat(entry, path);
      const offset = last === undefined ? 0 : last.start + last.bytes.length + 1;
      yield { entries, next: { file: path, offset } };
    }
  }
}
