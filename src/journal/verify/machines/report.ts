import type { JournalReport } from "../report.ts";

/** What `verifyJournals` found. */
export interface MachinesReport {
  /** The journals, in the order in which they were given. */
  readonly journals: readonly MachineReport[];
  /** The journals that a checkpoint of another one names, or a copy is of, and that were not given. */
  readonly absent: readonly AbsentJournal[];
  readonly calls: CallsReport;
  /** Whether anything is changed or missing: a contradiction, an absent journal, or an end without its beginning. */
  readonly isSound: boolean;
}

/** A journal of several. */
export interface MachineReport {
  readonly directory: string;
  /** The name of its key; absent if the journal signs no checkpoints. */
  readonly origin?: string;
  /** Its last record that a checkpoint of another journal names; 0 if there is none. */
  readonly namedByOthers: number;
  readonly report: JournalReport;
}

/** A journal that is known by its checkpoints only. */
export interface AbsentJournal {
  readonly origin: string;
  /** It had at least so many records. */
  readonly records: number;
  /** The journal whose checkpoint says so; absent if that is a copy of its own. */
  readonly namedBy?: string;
}

/** Calls across journals. */
export interface CallsReport {
  /** The number of calls that began in one journal and ended in another. */
  readonly moved: number;
  /** The number of calls that have not ended in any journal: they run, or their machine has not started again. */
  readonly open: number;
  /** The number of ends whose beginning is in no journal: records are missing that perhaps no checkpoint covers. */
  readonly unbegun: number;
  /** The first of these ends, at most 20. */
  readonly examples: readonly UnbegunCall[];
  /** The number of records that were lost while a journal could not write. Beginnings can be among them. */
  readonly lost: number;
}

/** An end without its beginning. */
export interface UnbegunCall {
  readonly directory: string;
  /** The number of the record of the end. */
  readonly seq: number;
  readonly session: string;
  readonly callId: string;
  readonly tool: string;
}
