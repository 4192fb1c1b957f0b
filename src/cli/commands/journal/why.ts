import type { JournalEntry } from "../../../journal/line/entry.ts";
import { readJournal } from "../../../journal/read/read-journal.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import { joinShown, type ShownText, shown } from "../../../rendering/shown.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal.ts";
import { directoryOf, type JournalPlace } from "./place.ts";
import { showEntry } from "./show.ts";

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
 * Prints why a call was decided on as it was, and how it ended. Models give the same ids to calls of different messages.
 * The exit code is 1 if there is no such call.
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
  await print(stdout, joinShown(lines, "\n"));
  return EXIT_OK;
}

function explain(entry: JournalEntry): ShownText[] {
  const details = Object.entries(DETAILS).flatMap(([name, label]) => {
    const value = entry[name];
    return value === undefined
      ? []
      : [shown`  ${label}: ${name === "near" ? nearText(value) : textOf(value)}`];
  });
  return [showEntry(entry, false), ...details];
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
