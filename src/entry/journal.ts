// Writing a journal

export { Journal, openJournal } from "../journal/journal.ts";
export type { JournalNotice, JournalOptions } from "../journal/options.ts";

// Keys

export { createJournalKeys, type JournalKeys } from "../journal/checkpoints/signed-note.ts";

// Verifying a journal

export type { JournalContradiction, JournalReport } from "../journal/verify/report.ts";
export { type VerifyOptions, verifyJournal } from "../journal/verify/verify-journal.ts";

// Verifying the journals of several machines

export type { MachinesReport } from "../journal/verify/verify-journals.ts";
export { verifyJournals } from "../journal/verify/verify-journals.ts";

// Archiving the first files of a journal

export { type ArchiveOptions, archiveJournal } from "../journal/archive-journal.ts";

// Reading a journal

export { JournalHistory } from "../journal/history/journal-history.ts";
export type { HistoryCall, HistoryQuery } from "../journal/history/list-calls.ts";
export type { JournalOverview } from "../journal/overview/overview.ts";
export { readJournal } from "../journal/read/read-journal.ts";
export { type ReplayReport, replayJournal } from "../journal/read/replay-journal.ts";
export { forgetSession } from "../journal/session-keys.ts";

// Comparing policies by a journal

export { diffPolicies, type PolicyDiffOptions } from "../journal/diff/diff-policies.ts";
export type { CallLocation, PolicyDiff } from "../journal/diff/policy-diff.ts";
export type { DecisionChange } from "../policy/compare-decisions.ts";

// Errors

export { JournalError } from "../journal/journal-error.ts";

// What is recorded of a call

export type {
  CallJournal,
  CallRecord,
  DecidedRecord,
  DeniedRecord,
  DispatchedRecord,
  EndedRecord,
} from "../engine/call/journal.ts";
