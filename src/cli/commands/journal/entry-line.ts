import type { JournalEntry } from "../../../journal/line/entry.ts";
import { shown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";

/** Which records are shown. */
export interface JournalSelection {
  readonly callId: string | undefined;
  readonly session: string | undefined;
  readonly tool: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since: number | undefined;
}

/** Whether a record is selected. */
export function isSelected(entry: JournalEntry, { callId, session, tool, since }: JournalSelection): boolean {
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
