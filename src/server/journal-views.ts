import { basename, dirname, sep } from "node:path";
import type { LatestDiff } from "../journal/diff/policy-diff.ts";
import type { HistoryCall } from "../journal/history/list-calls.ts";
import type { JournalEntry } from "../journal/line/entry.ts";
import { principalIn } from "../journal/read/record-members.ts";
import type { JournalContradiction, JournalReport } from "../journal/verify/report.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { Redaction } from "../redaction/redaction.ts";
import { render, textOf } from "../rendering/render.ts";
import { toLine, toPrintableJson } from "../rendering/shown.ts";
import type {
  JournalVerification,
  ListedCall,
  PolicyComparison,
  RecordedCall,
  RecordedCallState,
  ShownRecord,
} from "../shapes/journal.ts";

const MAX_TEXT_CHARS = 4_000;

/** Maximum number of items of a list, and members of an object. */
const MAX_ITEMS = 1_000;

const MAX_DEPTH = 16;

const MAX_NAME_CHARS = 256;
const MAX_RULES = 20;
const MAX_ARGUMENT_CHARS = 200_000;
/** Maximum number of characters of a record without its arguments. */
const MAX_ENTRY_CHARS = 1_000_000;

/** Shows a name of a record, which can be any text, in a line without secrets. */
export function shownName(name: string, redaction: Redaction): string {
  return toLine(redaction.text(name), MAX_NAME_CHARS);
}

/** A recorded call as it is listed. Records can be forged: every member can have any type. */
export function callView(call: HistoryCall, redaction: Redaction): ListedCall {
  const { begin, end } = call;
  const { seq, at, tool_call_id: callId, tool, session, decision, sideEffects, argumentDigest } = begin;
  const { code, effect } = end ?? begin;
  const text = (value: JsonValue | undefined): string | undefined =>
    typeof value === "string" ? shownName(value, redaction) : undefined;
  const member = <Name extends string>(name: Name, value: JsonValue | undefined) =>
    (typeof value === "string" ? { [name]: text(value) } : {}) as { readonly [Key in Name]?: string };
  const principal = text(principalIn(begin));
  return {
    seq,
    callId: text(callId) ?? "",
    toolName: text(tool) ?? "",
    sessionId: text(session) ?? "",
    ...(principal !== undefined && { principal: { id: principal } }),
    at,
    state: stateOf(call),
    ...member("decision", decision),
    ...member("sideEffects", sideEffects),
    ...member("code", code),
    ...member("effect", effect),
    ...(end !== undefined && { durationMs: Math.max(0, end.at - at) }),
    ...member("argumentDigest", argumentDigest),
  };
}

/** The records of a call, without the arguments, which have a text of their own. */
export function callDetail(
  call: HistoryCall,
  redaction: Redaction,
  opened: JsonValue | undefined,
): RecordedCall {
  const { begin, end } = call;
  const { args, ...record } = begin;
  const shown = opened === undefined ? args : opened;
  return {
    state: stateOf(call),
    begin: recordView(record, redaction),
    ...(shown !== undefined && { arguments: jsonText(shown, redaction, MAX_ARGUMENT_CHARS) }),
    ...(end !== undefined && { end: recordView(end, redaction) }),
  };
}

/** What was found when the journal was verified, without the places of its files. */
export function reportView(report: JournalReport, redaction: Redaction): JournalVerification {
  const { first, last, torn, contradiction, checkpoints } = report;
  const isIntact = contradiction === undefined;
  return {
    isIntact,
    first,
    last,
    ...(torn && { tornBytes: torn.bytes }),
    ...(contradiction && { contradiction: contradictionView(contradiction, redaction) }),
    ...(checkpoints && { checkpoints }),
  };
}

/** How two policies differ, without secrets. */
export function latestDiffView(
  { compared, different, changed, undecided, undecidable, isCut }: LatestDiff,
  redaction: Redaction,
): PolicyComparison {
  return {
    compared,
    changed: changed.map(({ seq, tool, before, after, changes, rules }) => ({
      seq,
      toolName: shownName(tool, redaction),
      before,
      after,
      changes,
      rules: rules.slice(0, MAX_RULES).map((rule) => toLine(rule, MAX_NAME_CHARS)),
    })),
    counts: { same: compared - different, different, undecided, undecidable },
    isCut,
  };
}

function contradictionView(
  { kind, seq, through, file, message }: JournalContradiction,
  redaction: Redaction,
): NonNullable<JournalVerification["contradiction"]> {
  const name = file === undefined ? undefined : basename(file);
  const shown = file === undefined ? message : message.replaceAll(dirname(file) + sep, "");
  return {
    kind,
    seq,
    ...(through !== undefined && { through }),
    ...(name !== undefined && { file: toLine(name) }),
    message: toLine(redaction.text(shown)),
  };
}

/** `open`: the call still runs, or its process crashed. `unknown`: its end may be too far behind its begin to be looked for. */
function stateOf({ begin, end, isEndUnknown }: HistoryCall): RecordedCallState {
  if (begin.type === "tool.call.denied") return "denied";
  if (end !== undefined) return "ended";
  return isEndUnknown === true ? "unknown" : "open";
}

function recordView(
  { seq, at, type, ...others }: JsonObject & Pick<JournalEntry, "seq" | "at" | "type">,
  redaction: Redaction,
): ShownRecord {
  const own = { seq, at, type: toLine(String(type)) };
  const view = { ...(showJson(others, redaction) as JsonObject), ...own };
  return JSON.stringify(view).length <= MAX_ENTRY_CHARS ? view : own;
}

/** Returns a value of a shape with its texts shown as {@link showJson} says. */
export function showTexts<Shown extends object>(value: Shown, redaction: Redaction): Shown {
  return showJson(JSON.parse(JSON.stringify(value)) as JsonValue, redaction) as unknown as Shown;
}

/** Returns a value whose texts and names are without secrets, rendered and cut. What is too deep or too many is left out. */
function showJson(value: JsonValue, redaction: Redaction, depth = 0): JsonValue {
  if (typeof value === "string") return toLine(redaction.text(value), MAX_TEXT_CHARS);
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return "[left out]";
  if (!isJsonObject(value)) {
    return value.slice(0, MAX_ITEMS).map((item) => showJson(item, redaction, depth + 1));
  }
  const members = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(
    members.map(([name, member = null]) => [
      toLine(redaction.text(name), MAX_NAME_CHARS),
      showJson(member, redaction, depth + 1),
    ]),
  );
}

/** Returns a value as printable JSON text without secrets. Of a long one, the beginning and the end are left. */
function jsonText(value: JsonValue, redaction: Redaction, chars: number): string {
  let text: string;
  try {
    text = toPrintableJson(redaction.json(value)).text;
  } catch (error) {
    // The stack overflows on forged values that are deeper than those of any call.
    if (error instanceof RangeError) return "[left out]";
    throw error;
  }
  return text.length <= chars ? text : textOf(render(text, { chars, syntax: "json", keepsLines: true }));
}
