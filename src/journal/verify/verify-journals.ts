import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import { type Checkpoint, type CheckpointHead, parseCheckpoints } from "../checkpoints/checkpoint.ts";
import { checkNote, readVerifierKey, type VerifierKey } from "../checkpoints/signed-note.ts";
import { namesIn } from "../line/call-parts.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import type { JournalFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import { CheckpointCheck, readChain } from "./checkpoint-check.ts";
import type { JournalReport } from "./report.ts";
import { type FoundFiles, findFiles, verifyChain } from "./verify-chain.ts";

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
interface MachineReport {
  readonly directory: string;
  /** The name of its key; absent if the journal signs no checkpoints. */
  readonly origin?: string;
  /** Its last record that a checkpoint of another journal names; 0 if none. */
  readonly namedByOthers: number;
  readonly report: JournalReport;
}

/** A journal that is known by its checkpoints only. */
interface AbsentJournal {
  readonly origin: string;
  /** It had at least so many records. */
  readonly records: number;
  /** The journal whose checkpoint says so; absent if that is a copy of its own. */
  readonly namedBy?: string;
}

/** Calls across journals. */
interface CallsReport {
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
interface UnbegunCall {
  readonly directory: string;
  /** The number of the record of the end. */
  readonly seq: number;
  readonly session: string;
  readonly callId: string;
  readonly tool: string;
}

const MAX_EXAMPLES = 20;

/**
 * Finds the beginnings and ends of calls in different journals. Only what does not pair within its journal is retained in
 * memory.
 */
class CallsAcross {
  /** Calls that have begun and not ended in a journal: how often. */
  readonly #open = new Map<string, number>();
  /** Ends without a beginning in their journal. */
  readonly #ends = new Map<string, UnbegunCall[]>();
  #lost = 0;

  /** Returns what takes the records of a journal, and what is to be called after the last one. */
  journal(directory: string): { readonly take: (entry: JournalEntry) => void; readonly finish: () => void } {
    const begun = new Map<string, number>();
    const take = (entry: JournalEntry): void => {
      switch (entry.type) {
        case "tool.call.dispatched":
          add(begun, keyOf(entry), 1);
          break;
        case "tool.call.ended": {
          const key = keyOf(entry);
          if (begun.has(key)) add(begun, key, -1);
          else this.#endAlone(key, entry, directory);
          break;
        }
        case "journal.recovered":
          this.#lost += Number(entry["lost"]);
          break;
      }
    };
    const finish = (): void => {
      for (const [key, count] of begun) add(this.#open, key, count);
    };
    return { take, finish };
  }

  /**
   * Returns the outcome of the calls. An end can be recorded twice, where a durable engine repeats a step after a crash: the
   * beginning of an end that does not pair is then looked for among all records.
   */
  async report(directories: readonly string[]): Promise<CallsReport> {
    let moved = 0;
    for (const key of this.#ends.keys()) {
      if (!this.#open.has(key)) continue;
      moved++;
      this.#open.delete(key);
      this.#ends.delete(key);
    }
    if (this.#ends.size > 0) moved += await this.#findBeginnings(directories);
    const unbegun = [...this.#ends.values()].flat();
    let open = 0;
    for (const count of this.#open.values()) open += count;
    const examples = unbegun.slice(0, MAX_EXAMPLES);
    return { moved, open, unbegun: unbegun.length, examples, lost: this.#lost };
  }

  async #findBeginnings(directories: readonly string[]): Promise<number> {
    let found = 0;
    for (const directory of directories) {
      const { files } = await findFiles(directory);
      // What contradicts was reported before.
      await readChain({ files, start: undefined, signed: Number.POSITIVE_INFINITY }, (entry) => {
        if (entry.type === "tool.call.dispatched" && this.#ends.delete(keyOf(entry))) found++;
        return undefined;
      });
    }
    return found;
  }

  #endAlone(key: string, entry: JournalEntry, directory: string): void {
    const { session, tool, tool_call_id: callId } = namesIn(entry);
    const call = { directory, seq: entry.seq, session, tool, callId };
    const same = this.#ends.get(key);
    if (same === undefined) this.#ends.set(key, [call]);
    else same.push(call);
  }
}

const NAMES: OptionNames<VerifyJournalsOptions> = { directories: true, keys: true, checkpoints: true };

/** The options of {@link verifyJournals}. */
export interface VerifyJournalsOptions {
  /** The directories of the journals of all machines. */
  readonly directories: readonly string[];
  /** The texts of the keys that check their checkpoints: those of all journals. Default: signatures are not checked. */
  readonly keys?: readonly string[];
  /** Copies of checkpoints of any of the journals, which were stored elsewhere. Default: none. */
  readonly checkpoints?: readonly string[];
}

/** A journal, before its records are read. */
interface Machine {
  readonly directory: string;
  readonly found: FoundFiles;
  /** The name of the key with which it was first opened. */
  readonly origin: string | undefined;
}

/** A head that a signed checkpoint names. */
interface Named {
  readonly head: CheckpointHead;
  /** The signer of the checkpoint. */
  readonly namedBy: string;
}

/**
 * Checks the journals of several machines: each one as `verifyJournal` does, that it agrees with the checkpoints of its peers,
 * that every journal which they name is given, and that each end of a call has its beginning in one of them. With keys, a
 * journal that was opened without one of these is a contradiction. The journals may be in use.
 *
 * @throws {JournalError} as a rejection, if a file cannot be read.
 * @throws {TypeError} as a rejection, if a key is not valid.
 */
export async function verifyJournals(options: VerifyJournalsOptions): Promise<MachinesReport> {
  refuseUnknown(options, NAMES, "verifyJournals");
  const { directories, keys = [], checkpoints: copies = [] } = options;
  const trusted = keys.map(readVerifierKey);
  // All checkpoints are read before any record: journals in use grow, and what is named then is in their files.
  const machines = await Promise.all(directories.map(readMachine));
  const texts = [...copies, ...machines.flatMap(({ found }) => found.checkpoints.map(([, text]) => text))];
  const signed = texts.flatMap((text) => signedIn(text, trusted));
  const named = signed.flatMap(({ origin, peers }) => peers.map((head) => ({ head, namedBy: origin })));
  const names = new Set(trusted.map(({ name }) => name));
  const isOther = (other: string, origin: string | undefined): boolean =>
    other !== origin && names.has(other);
  const calls = new CallsAcross();
  const journals: MachineReport[] = [];
  const origins = new Set<string>();
  for (const machine of machines) {
    const { directory, found, origin } = machine;
    const own = trusted.filter(({ name }) => name === origin);
    // A journal with another key, or with none, is compared with all of them: nothing vouches for its records.
    const checked = own.length > 0 ? own : trusted;
    const check = new CheckpointCheck(checked);
    const ofThis = named.filter(({ head }) => head.origin === origin);
    for (const [path, text] of found.checkpoints) check.add(text, path, true);
    if (own.length > 0) {
      for (const copy of copies) check.add(copy, "the copy", false, (other) => isOther(other, origin));
      for (const { head, namedBy } of ofThis) check.addNamed(head, namedBy);
    }
    const { take, finish } = calls.journal(directory);
    const report = await verifyChain(found, check, checked, take);
    finish();
    const isTwice = origin !== undefined && origins.has(origin);
    if (origin !== undefined) origins.add(origin);
    journals.push({
      directory,
      ...(origin !== undefined && { origin }),
      namedByOthers: ofThis.reduce((most, { head }) => Math.max(most, head.records), 0),
      report: isTwice && report.contradiction === undefined ? withSameKey(report, origin) : report,
    });
  }
  const absent = absentOf([...named, ...signed.map((head) => ({ head, namedBy: head.origin }))], origins);
  const across = await calls.report(directories);
  const isSound =
    journals.every(({ report }) => report.contradiction === undefined) &&
    absent.length === 0 &&
    (across.unbegun === 0 || across.lost > 0);
  return { journals, absent, calls: across, isSound };
}

async function readMachine(directory: string): Promise<Machine> {
  const found = await findFiles(directory);
  const [first] = found.files;
  const [signed] = found.checkpoints.flatMap(([, text]) => parseCheckpoints(text).checkpoints);
  return { directory, found, origin: (first && (await originIn(first))) ?? signed?.origin };
}

/** The first record of a journal says with which key it was opened. */
async function originIn({ path }: JournalFileName): Promise<string | undefined> {
  for await (const [line] of new LineReader(path).batches()) {
    const key = line && parseEntry(line.bytes.toString())?.["key"];
    return typeof key === "string" ? key.split("+", 1)[0] : undefined;
  }
  return undefined;
}

/** Contradictions among checkpoints of another journal are found when that journal is checked. */
function signedIn(text: string, trusted: readonly VerifierKey[]): Checkpoint[] {
  return parseCheckpoints(text).checkpoints.filter(
    ({ origin, note }) =>
      checkNote(
        note,
        trusted.filter(({ name }) => name === origin),
      ) === "signed",
  );
}

function withSameKey(report: JournalReport, origin: string): JournalReport {
  const message = `another journal was opened with the key of '${origin}', too: each needs one of its own`;
  return { ...report, contradiction: { kind: "key", seq: Math.max(report.first, 1), message } };
}

function absentOf(known: readonly Named[], present: ReadonlySet<string>): AbsentJournal[] {
  const absent = new Map<string, AbsentJournal>();
  for (const { head, namedBy } of known) {
    const { origin, records } = head;
    if (present.has(origin) || records <= (absent.get(origin)?.records ?? 0)) continue;
    absent.set(origin, { origin, records, ...(namedBy !== origin && { namedBy }) });
  }
  return [...absent.values()];
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

function keyOf(entry: JournalEntry): string {
  const { session, turn, message, tool, tool_call_id: callId } = namesIn(entry);
  return JSON.stringify([session, turn, message, tool, callId]);
}
