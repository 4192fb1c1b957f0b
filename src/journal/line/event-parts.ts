import { isNewerFormat, newerFormatText } from "../../base/own-files.ts";
import { wellFormed } from "../../base/text.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { KernelChange } from "../../policy/capability-kernel.ts";
import { JournalError } from "../journal-error.ts";
import type { CallNames } from "./call-parts.ts";
import type { JournalEntry, RecordParts } from "./entry.ts";

/** The format of a journal's records, which each record that begins a process or a file has. */
const JOURNAL_FORMAT = 1;

/** A record about the journal itself. */
export type JournalEvent =
  | {
      readonly type: "journal.opened" /** Checks the checkpoints. */;
      readonly verifierKey: string | undefined;
    }
  | {
      /** The file continues the one before. */ readonly type: "journal.rotated";
      readonly open: readonly CallNames[];
    }
  | {
      readonly type: "journal.recovered";
      /** The number of records that could not be stored until the journal could write again. */
      readonly lost: number;
      /** Why it could not write. */
      readonly reason: string;
    };

/** The record of what a supervised agent was granted, or of what was taken away from it. */
export function kernelChangeParts({ kind, agent, capabilities }: KernelChange): RecordParts {
  return {
    beforeAt: `"agent":${JSON.stringify(wellFormed(agent))},`,
    beforePrev: `"capabilities":${canonicalText(capabilities as unknown as JsonValue)},`,
    beforeSeq: "",
    afterSeq: `"type":"agent.${kind}"`,
  };
}

/** The record of an event of the journal itself. */
export function eventParts(event: JournalEvent): RecordParts {
  const afterSeq = `"type":"${event.type}"`;
  if (event.type === "journal.rotated") {
    // These calls have no end yet: an opening reader need not look into the files before.
    return {
      beforeAt: "",
      beforePrev: `"format":${JOURNAL_FORMAT},"open":${canonicalText(event.open as unknown as JsonValue)},`,
      beforeSeq: "",
      afterSeq,
    };
  }
  if (event.type === "journal.opened") {
    const key = event.verifierKey === undefined ? "" : `"key":${JSON.stringify(event.verifierKey)},`;
    return { beforeAt: "", beforePrev: `"format":${JOURNAL_FORMAT},${key}`, beforeSeq: "", afterSeq };
  }
  const reason = JSON.stringify(wellFormed(event.reason));
  return { beforeAt: "", beforePrev: `"lost":${event.lost},`, beforeSeq: `"reason":${reason},`, afterSeq };
}

/**
 * Returns an error if a record says that those after it have a newer format.
 *
 * @param path Of the file.
 */
export function newerFormat({ type, format }: JournalEntry, path: string): JournalError | undefined {
  const hasFormat = type === "journal.opened" || type === "journal.rotated";
  if (!hasFormat || !isNewerFormat(format, JOURNAL_FORMAT)) return undefined;
  return new JournalError(`the journal '${path}' ${newerFormatText(format, JOURNAL_FORMAT)}`);
}

/** @throws {JournalError} if a record says that those after it have a newer format. */
export function refuseNewerFormat(entry: JournalEntry, path: string): void {
  const error = newerFormat(entry, path);
  if (error !== undefined) throw error;
}
