import { setTimeout as delay } from "node:timers/promises";
import type { JournalEntry } from "../../../journal/line/entry.ts";
import { ArgumentReader } from "../../../journal/read/argument-reader.ts";
import { type JournalPosition, readJournal } from "../../../journal/read/read-journal.ts";
import { isCallRecord } from "../../../journal/read/recorded-calls.ts";
import { canonicalText } from "../../../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { joinShown, ShownText, shown, toPrintableJson } from "../../../rendering/shown.ts";
import {
  commandThatAllows,
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  type Terminal,
} from "../../terminal.ts";
import { directoryOf, type JournalPlace } from "./place.ts";

/** Number of records that `tail` prints at first. */
const SHOWN_AT_FIRST = 10;

const POLL_MS = 250;

/** Options of `sandgate journal tail`. */
interface TailOptions {
  readonly place: JournalPlace;
  readonly selection: JournalSelection;
  readonly isJson: boolean;
  /** Whether it waits for more records. */
  readonly follows: boolean;
}

/** Which records are shown. */
export interface JournalSelection {
  readonly callId: string | undefined;
  readonly session: string | undefined;
  readonly tool: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since: number | undefined;
}

/** Options of `sandgate journal show`. */
interface ShowOptions {
  readonly place: JournalPlace;
  readonly selection: JournalSelection;
  readonly isJson: boolean;
  /** Whether the calls are printed as cases of a policy test. */
  readonly isTest: boolean;
}

/** Prints the selected records of a journal, one per line, or the selected calls as cases of a policy test. */
export async function show(
  { place, selection, isJson, isTest }: ShowOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { stdout, signal } = terminal;
  const directory = await directoryOf(place);
  if (isTest) return showAsTest(directory, (entry) => isSelected(entry, selection), terminal);
  for await (const { entries } of readJournal(directory)) {
    if (signal?.aborted) return EXIT_INTERRUPTED;
    const lines = entries
      .filter((entry) => isSelected(entry, selection))
      .map((entry) => showEntry(entry, isJson));
    const { text } = joinShown(lines, "\n");
    await print(stdout, new ShownText(text, { isData: isJson }));
  }
  return EXIT_OK;
}

/**
 * Prints recorded calls as cases of `sandgate policy test`, which expect the recorded decisions. The exit code is 1 if
 * there is no such call, or if one cannot be a case.
 *
 * @param isSelected Whether a record is selected.
 */
async function showAsTest(
  directory: string,
  isSelected: (entry: JournalEntry) => boolean,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const reader = await ArgumentReader.open(directory);
  let [printed, left] = [0, 0];
  for await (const { entries } of readJournal(directory)) {
    for (const entry of entries.filter((each) => isCallRecord(each) && isSelected(each))) {
      const written = caseOf(entry, reader);
      if (typeof written === "string") {
        left++;
        await print(stderr, shown`sandgate: record ${entry.seq} cannot be a case: ${written}`);
      } else {
        printed++;
        await print(stdout, toListItem(written));
      }
    }
  }
  if (printed + left === 0) await print(stderr, shown`sandgate: the journal has no such call`);
  return printed > 0 && left === 0 ? EXIT_OK : EXIT_TOOL_FAILED;
}

/** Returns the case of a recorded call, or why it cannot be one. */
function caseOf(entry: JournalEntry, reader: ArgumentReader): JsonObject | string {
  const {
    args = null,
    decision,
    policyDecision = decision,
    grant,
    principal,
    session,
    tool,
    tool_call_id: callId,
  } = entry;
  if (decision === undefined) return "the policy did not decide on it";
  const read = reader.read(entry, canonicalText(args));
  if ("missing" in read) {
    return read.missing === "forgotten"
      ? "the key of its arguments was deleted"
      : "its arguments are redacted: they are not those of the call";
  }
  const sandbox = (grant as JsonObject | undefined)?.["sandbox"];
  return {
    name: `call ${String(callId)}`,
    call: { tool: tool ?? null, arguments: JSON.parse(read.text) as JsonValue },
    ...(principal !== undefined && { principal }),
    ...(session !== undefined && { session }),
    // Cases are about the policy, not about modes and approvals of sessions.
    expect: policyDecision ?? null,
    ...(decision !== "deny" && sandbox !== undefined && { sandbox }),
  };
}

/** Writes a case as an item of a YAML list, each member on its own line, as JSON, which is YAML. */
function toListItem(written: JsonObject): ShownText {
  const lines = Object.entries(written).map(([name, value], index) => {
    const { text } = toPrintableJson(value);
    return new ShownText(`${index === 0 ? "- " : "  "}${name}: ${text.replaceAll(/\n\s*/g, " ")}`);
  });
  return new ShownText(joinShown(lines, "\n").text, { isData: true });
}

/** Whether a record is selected. */
function isSelected(entry: JournalEntry, { callId, session, tool, since }: JournalSelection): boolean {
  return (
    (callId === undefined || entry["tool_call_id"] === callId) &&
    (session === undefined || entry["session"] === session) &&
    (tool === undefined || entry["tool"] === tool) &&
    (since === undefined || entry.at >= since)
  );
}

/** Shows a record as one line: as JSON for programs, or for people. */
export function showEntry(entry: JournalEntry, isJson: boolean): ShownText {
  return isJson ? new ShownText(JSON.stringify(entry), { isData: true }) : forPeople(entry);
}

function forPeople(entry: JournalEntry): ShownText {
  const { seq, type, tool, tool_call_id: callId, session } = entry;
  const time = new Date(entry.at).toISOString();
  if (tool === undefined) return shown`${seq} ${time} ${type}`;
  return shown`${seq} ${time} ${outcomeOf(entry)} ${String(tool)} call ${String(callId)} session ${String(session)}`;
}

function outcomeOf({ type, code, effect, decision, reason, suspended }: JournalEntry): ShownText {
  switch (type) {
    case "tool.call.dispatched":
      return shown`dispatched (${String(decision)})`;
    case "tool.call.ended":
      if (suspended === true) return shown`suspended`;
      return code === undefined
        ? shown`ended (ok)`
        : shown`ended (${String(code)}, effect ${String(effect)})`;
    case "tool.call.denied":
      return reason === undefined
        ? shown`denied (${String(code)})`
        : shown`denied (${String(code)}: ${String(reason)})`;
    default:
      return shown`${type}`;
  }
}

/** Prints the last selected records of a journal, and with `-f` those that follow until it is interrupted. */
export async function tail(
  { place, selection, isJson, follows }: TailOptions,
  { stdout, signal }: Terminal,
): Promise<ExitCode> {
  const directory = await directoryOf(place);
  let last: JournalEntry[] = [];
  let next: JournalPosition | undefined;
  for await (const batch of readJournal(directory)) {
    next = batch.next;
    last = [...last, ...batch.entries.filter((entry) => isSelected(entry, selection))].slice(-SHOWN_AT_FIRST);
  }
  for (const entry of last) await print(stdout, showEntry(entry, isJson));
  // There is no reader once the pipe is closed.
  while (follows && !signal?.aborted && !stdout.destroyed) {
    for await (const batch of readJournal(directory, next)) {
      next = batch.next;
      for (const entry of batch.entries) {
        if (isSelected(entry, selection)) await print(stdout, showEntry(entry, isJson));
      }
    }
    await delay(POLL_MS, undefined, signal && { signal }).catch(() => {});
  }
  return follows && !stdout.destroyed ? EXIT_INTERRUPTED : EXIT_OK;
}

/** The members of a record that are printed below its line, in this order. */
const DETAILS = {
  principal: "principal",
  rules: "rules",
  policyDecision: "the policy alone decides",
  near: "near misses",
  confirmation: "confirmation",
  grant: "grant",
  receipt: "receipt",
  policyRevision: "policy",
  args: "arguments",
} as const;

/** How many calls with the same id are remembered: later records may belong to any of them. */
const MAX_CALLS = 1_000;

/** Which calls are explained. */
interface WhySelection {
  readonly callId: string;
  readonly session: string | undefined;
  /** Milliseconds since the epoch. Default: only the last call that was found. */
  readonly since: number | undefined;
}

/**
 * Explains the decision on a call, and how the call ended. Models may use an id again in another message. The
 * exit code is 1 if there is no such call.
 */
export async function why(
  { place, selection }: { readonly place: JournalPlace; readonly selection: WhySelection },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const { callId, session, since } = selection;
  /** The records of each call, in the order in which the last ones of them were written. */
  const calls = new Map<string, JournalEntry[]>();
  for await (const { entries } of readJournal(await directoryOf(place))) {
    for (const entry of entries) {
      if (entry["tool_call_id"] !== callId || (session !== undefined && entry["session"] !== session))
        continue;
      const key = JSON.stringify([entry["session"], entry["turn"], entry["message"]]);
      const records = calls.get(key) ?? [];
      calls.delete(key);
      calls.set(key, [...records, entry]);
      const [oldest] = calls.keys();
      if (since === undefined && calls.size > MAX_CALLS && oldest !== undefined) calls.delete(oldest);
    }
  }
  const found = [...calls.values()].filter((records) => (records.at(-1)?.at ?? 0) >= (since ?? 0));
  if (found.length === 0) {
    await print(
      stdout,
      shown`the journal has no call ${callId}${session === undefined ? "" : ` in session ${session}`}`,
    );
    return EXIT_TOOL_FAILED;
  }
  const lines = (since === undefined ? found.slice(-1) : found).flat().flatMap(explain);
  if (since === undefined && found.length > 1)
    lines.push(shown`this is the last call ${callId}; for earlier ones give --session or --since`);
  for (const line of lines) await print(stdout, line);
  return EXIT_OK;
}

function explain(entry: JournalEntry): ShownText[] {
  const details = Object.entries(DETAILS).flatMap(([name, label]) => {
    const value = entry[name];
    return value === undefined
      ? []
      : [shown`  ${label}: ${name === "near" ? nearText(value) : textOf(value)}`];
  });
  return [showEntry(entry, false), ...details, ...wayToAllow(entry)];
}

/** Suggests the command that prints what would allow a call that no rule allows. */
function wayToAllow({ type, near, tool, args }: JournalEntry): ShownText[] {
  if (type !== "tool.call.denied" || near === undefined) return [];
  const given = args === undefined ? "" : JSON.stringify(args);
  return [shown`  this says what would allow it:`, commandThatAllows(textOf(tool ?? ""), given)];
}

function textOf(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(textOf).join(", ");
  return JSON.stringify(value);
}

function nearText(near: JsonValue): string {
  if (!Array.isArray(near)) return textOf(near);
  return near
    .map((rule) =>
      isJsonObject(rule) ? `${textOf(rule["rule"] ?? "")} (${textOf(rule["missed"] ?? "")})` : "",
    )
    .join(", ");
}
