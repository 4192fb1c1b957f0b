import { JournalError } from "../journal-error.ts";
import { besideFile } from "../storage/file-names.ts";
import { readWhole } from "../storage/line-reader.ts";
import { parseNote, type SignedNote, type SigningKey, signNote } from "./signed-note.ts";

/** The end of a journal. */
export interface CheckpointHead {
  /** The name of the journal, which is that of its key. */
  readonly origin: string;
  /** The number of records. */
  readonly records: number;
  /** SHA-256 of the last line without its newline, in hexadecimal digits. */
  readonly digest: string;
}

/** What a journal was at some time: a signed note of three lines, and one for each peer. */
export interface Checkpoint extends CheckpointHead {
  /** The newest checkpoints of journals of other machines that its signer knew. */
  readonly peers: readonly CheckpointHead[];
  readonly note: SignedNote;
}

/** Maximum number of journals that a checkpoint names. */
export const MAX_PEERS = 64;

/** The lines of a checkpoint before the signature: three, and one for each peer. */
const TEXT = /^([^\n]+)\n([1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n((?:peer [^\n]+\n){0,64})$/;
const PEER = /^peer ([^\s+]+) ([1-9]\d{0,15}) ([A-Za-z0-9+/]{43}=)$/;

/** Signs a checkpoint of a journal. */
export function signCheckpoint(
  records: number,
  digest: string,
  key: SigningKey,
  peers: readonly CheckpointHead[] = [],
): string {
  const named = peers.map((peer) => `peer ${peer.origin} ${peer.records} ${toBase64(peer.digest)}\n`);
  return signNote(`${key.name}\n${records}\n${toBase64(digest)}\n${named.join("")}`, key);
}

/**
 * Reads checkpoints that follow each other, with or without empty lines between them.
 *
 * @returns The checkpoints, and the text from the first thing on that is no checkpoint: it is empty if everything was
 *   read. A crash can leave a part of a checkpoint at the end of a file.
 */
export function parseCheckpoints(text: string): {
  readonly checkpoints: Checkpoint[];
  readonly rest: string;
} {
  const checkpoints: Checkpoint[] = [];
  let start = 0;
  while (start < text.length) {
    if (text[start] === "\n") {
      start++;
      continue;
    }
    const end = endOfNote(text, start);
    const checkpoint = end === undefined ? undefined : readCheckpoint(text.slice(start, end));
    if (end === undefined || checkpoint === undefined) break;
    checkpoints.push(checkpoint);
    start = end;
  }
  return { checkpoints, rest: text.slice(start) };
}

/** The position after a note: its signatures are the lines after the first empty one that begin with a dash. */
function endOfNote(text: string, start: number): number | undefined {
  const split = text.indexOf("\n\n", start);
  if (split < 0) return undefined;
  let end = split + 2;
  while (text.startsWith("— ", end)) {
    const newline = text.indexOf("\n", end);
    if (newline < 0) return undefined;
    end = newline + 1;
  }
  return end;
}

function readCheckpoint(text: string): Checkpoint | undefined {
  const note = parseNote(text);
  const [, origin, records, digest = "", lines = ""] = TEXT.exec(note?.text ?? "") ?? [];
  if (note === undefined || origin === undefined || !Number.isSafeInteger(Number(records))) return undefined;
  const peers = lines.split("\n").slice(0, -1).map(readPeer);
  if (!peers.every((peer) => peer !== undefined)) return undefined;
  return { origin, records: Number(records), digest: fromBase64(digest), peers, note };
}

function readPeer(line: string): CheckpointHead | undefined {
  const [, origin, records, digest = ""] = PEER.exec(line) ?? [];
  if (origin === undefined || !Number.isSafeInteger(Number(records))) return undefined;
  return { origin, records: Number(records), digest: fromBase64(digest) };
}

function toBase64(digest: string): string {
  return Buffer.from(digest, "hex").toString("base64");
}

function fromBase64(digest: string): string {
  return Buffer.from(digest, "base64").toString("hex");
}

/** What a checkpoint says of a journal: the digest of its last line, when it had so many records. */
export interface KnownHead {
  readonly records: number;
  readonly digest: string;
  /** The path of the file with the checkpoint. */
  readonly source: string;
}

/** Compares a journal that is being opened with what is known of it. */
export class KnownHeads {
  readonly #heads = new Map<number, KnownHead>();
  /** The one with the most records. */
  #last: KnownHead | undefined;

  /** @throws {JournalError} if two heads contradict each other. */
  add(head: KnownHead): void {
    this.compare(head.records, head.digest);
    this.#heads.set(head.records, head);
    if (head.records > (this.#last?.records ?? 0)) this.#last = head;
  }

  /**
   * Adds the checkpoints beside a file of the journal. Their signers do not matter: checkpoints of any signer can contradict.
   *
   * @throws {JournalError} as a rejection, if they cannot be read, or two contradict each other.
   */
  async addBeside(path: string): Promise<void> {
    const source = besideFile(path, "checkpoints");
    for (const { records, digest } of parseCheckpoints((await readWhole(source)) ?? "").checkpoints)
      this.add({ records, digest, source });
  }

  /** @throws {JournalError} if the digest of a line differs from the known one. */
  compare(seq: number, digest: string): void {
    const known = this.#heads.get(seq);
    if (known !== undefined && known.digest !== digest) throw contradicts(known);
  }

  /** @throws {JournalError} if more records are known than there are. */
  finish(records: number): void {
    if (this.#last !== undefined && this.#last.records > records) throw contradicts(this.#last);
  }
}

function contradicts({ records, source }: KnownHead): JournalError {
  return new JournalError(
    `the journal contradicts its checkpoint of ${records} records in '${source}': nothing can be added to it. See sandgate journal verify`,
  );
}
