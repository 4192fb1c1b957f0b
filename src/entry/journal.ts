// Writing a journal

export type { Anchor } from "../journal/checkpoints/anchors.ts";
export { Journal, openJournal } from "../journal/journal.ts";
export type { JournalNotice } from "../journal/notice.ts";
export type { JournalOptions, JournalPeers } from "../journal/options.ts";

// Keys

export { createJournalKeys, type JournalKeys } from "../journal/checkpoints/note-keys.ts";

// Verifying a journal

export type {
  ContradictionKind,
  JournalContradiction,
  JournalReport,
} from "../journal/verify/report.ts";
export { type VerifyOptions, verifyJournal } from "../journal/verify/verify-journal.ts";

// Verifying the journals of several machines

export type {
  AbsentJournal,
  CallsReport,
  MachineReport,
  MachinesReport,
  UnbegunCall,
} from "../journal/verify/machines/report.ts";
export {
  type VerifyJournalsOptions,
  verifyJournals,
} from "../journal/verify/machines/verify-journals.ts";

// Archiving the first files of a journal

export { type ArchivedFiles, type ArchiveOptions, archiveJournal } from "../journal/archive-journal.ts";

// Reading a journal

export { JournalHistory, type JournalSummary } from "../journal/history/journal-history.ts";
export type { HistoryCall, HistoryPage, HistoryQuery } from "../journal/history/recorded-history.ts";
export type { JournalEntry } from "../journal/line/entry.ts";
export type { MissingArguments } from "../journal/read/argument-reader.ts";
export { type JournalBatch, type JournalPosition, readJournal } from "../journal/read/read-journal.ts";
export type { UndecidableCause } from "../journal/read/recorded-calls.ts";
export { type ReplayDifference, type ReplayReport, replayJournal } from "../journal/read/replay-journal.ts";
export { forgetSession } from "../journal/sealed/forget-session.ts";

// Comparing policies by a journal

export { diffPolicies, type PolicyDiffOptions } from "../journal/diff/diff-policies.ts";
export type { ChangedCalls, PolicyDiff, RecordedCall } from "../journal/diff/policy-diff.ts";
export type { DecisionChange } from "../policy/compare-decisions.ts";

// Errors

export { JournalError } from "../journal/journal-error.ts";
