/**
 * How a journal contradicts itself or its checkpoints:
 *
 * - `unreadable`: the line is no record, or not canonical JSON
 * - `changed`: the record was changed
 * - `missing`: records are missing
 * - `inserted`: the record was inserted
 * - `order`: the record stands in another place
 * - `file`: the file has the records of another one, its name says another one, or it stands beside none
 * - `clock`: the record's time is earlier than that of the record before
 * - `cut`: records at the end are missing, which a checkpoint covers, or beside which a file stands
 * - `rewritten`: the chain is intact, but was written anew: its checkpoint has another digest
 * - `forked`: two checkpoints of equally many records contradict each other
 * - `forged`: the signature of a checkpoint is wrong
 * - `sealed`: the sealed arguments of the record were changed, or are missing
 * - `key`: a checkpoint is signed by another key, or the journal was opened with one
 */
export type ContradictionKind =
  | "unreadable"
  | "changed"
  | "missing"
  | "inserted"
  | "order"
  | "file"
  | "clock"
  | "cut"
  | "rewritten"
  | "forked"
  | "forged"
  | "sealed"
  | "key";

/** The first contradiction of a journal. */
export interface JournalContradiction {
  readonly kind: ContradictionKind;
  /** The number of the first record that contradicts. */
  readonly seq: number;
  /** The number of the last record that is concerned. Default: only `seq` is. */
  readonly through?: number;
  /** The file with the record, if the contradiction is in a file. */
  readonly file?: string;
  /** One line. */
  readonly message: string;
}

/** What `verifyJournal` found. */
export interface JournalReport {
  /** The first record that was read, and the last one up to which the chain is intact. Both are 0 if none. */
  readonly first: number;
  readonly last: number;
  /** The number of records before `first` that were archived. Default: none. */
  readonly archived?: number;
  /** The half-written line at the end, which a crash leaves. It is not a contradiction. Default: none. */
  readonly torn?: { readonly file: string; readonly bytes: number };
  /** Default: none. */
  readonly contradiction?: JournalContradiction;
  /** Absent if no key was given: signatures were not checked. */
  readonly checkpoints?: {
    /** The number of checkpoints that match the journal. */
    readonly matching: number;
    /** The last record that a matching checkpoint covers; 0 if none. */
    readonly covered: number;
    /** The number of records after it, which no checkpoint covers. They could be changed unseen. */
    readonly uncovered: number;
  };
}
