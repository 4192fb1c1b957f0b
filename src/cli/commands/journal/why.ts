import type { JournalEntry } from "../../../journal/line/entry.ts";
import { readJournal } from "../../../journal/read/read-journal.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { showEntry } from "./entry-line.ts";
import { directoryOf, type JournalPlace } from "./place.ts";

/** What is printed of a record besides its line, in this order. */
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

/** Prints why a call was decided on as it was, and what became of it. The exit code is 1 if there is no such call. */
export async function why(
  { place, callId }: { readonly place: JournalPlace; readonly callId: string },
  { stdout }: Terminal,
): Promise<ExitCode> {
  const lines: ShownText[] = [];
  for await (const { entries } of readJournal(await directoryOf(place))) {
    for (const entry of entries) if (entry["tool_call_id"] === callId) lines.push(...explain(entry));
  }
  const isFound = lines.length > 0;
  await print(stdout, isFound ? joinShown(lines, "\n") : shown`the journal has no call ${callId}`);
  return isFound ? EXIT_OK : EXIT_TOOL_FAILED;
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
    .map((miss) =>
      isJsonObject(miss) ? `${textOf(miss["rule"] ?? "")} (${textOf(miss["missed"] ?? "")})` : "",
    )
    .join(", ");
}
