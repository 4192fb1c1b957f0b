import type { JournalEntry } from "../../../journal/line/entry.ts";
import { ArgumentReader } from "../../../journal/read/argument-reader.ts";
import { readJournal } from "../../../journal/read/read-journal.ts";
import { isCallRecord } from "../../../journal/read/recorded-calls.ts";
import { canonicalText } from "../../../json/canonical.ts";
import type { JsonObject, JsonValue } from "../../../json/value.ts";
import { toPrintableJson } from "../../../rendering/printable-json.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import {
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  type Terminal,
} from "../../terminal/terminal.ts";
import { isSelected, type JournalSelection, showEntry } from "./entry-line.ts";
import { directoryOf, type JournalPlace } from "./place.ts";

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

/** Returns the case of a recorded call, or why there is none. */
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
