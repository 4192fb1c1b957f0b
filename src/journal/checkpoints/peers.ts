import { join } from "node:path";
import { replaceFile } from "../storage/file-writing.ts";
import { openFile } from "../storage/line-reader.ts";
import { type CheckpointHead, type KnownHead, parseCheckpoints } from "./checkpoint.ts";
import {
  checkNote,
  type NoteKey,
  readVerifierKey,
  type SigningKey,
  type VerifierKey,
} from "./signed-note.ts";

/** A peer's file has one checkpoint. Nothing that is longer is read. */
const MAX_BYTES = 65_536;

/**
 * The newest checkpoints of the journals of other machines, in a directory that all of them share. Each machine writes its
 * own there, and names those of its peers in its next one.
 */
export class PeerCheckpoints {
  readonly #directory: string;
  readonly #own: NoteKey;
  readonly #peers: readonly VerifierKey[];
  readonly #onProblem: (reason: string) => void;
  readonly #heads = new Map<string, CheckpointHead>();
  /** The problems that were reported, so that a lasting one is not reported each second. */
  readonly #reported = new Map<string, string>();

  /** @param onProblem Called with what the operator has to know, once for each problem that lasts. */
  constructor(
    directory: string,
    own: NoteKey,
    peers: readonly VerifierKey[],
    onProblem: (reason: string) => void,
  ) {
    this.#directory = directory;
    this.#own = own;
    this.#peers = peers;
    this.#onProblem = onProblem;
  }

  /** The newest heads that are known, in the order of their origins. */
  get heads(): readonly CheckpointHead[] {
    return [...this.#heads.values()].sort((one, other) => (one.origin < other.origin ? -1 : 1));
  }

  /** Remembers the heads that the journal's own last checkpoint names: a peer that is behind them was cut back. */
  remember(heads: readonly CheckpointHead[]): void {
    for (const head of heads) {
      if (this.#peers.some(({ name }) => name === head.origin)) this.#heads.set(head.origin, head);
    }
  }

  /** Writes the journal's own newest checkpoint for the peers. Never rejects. */
  async publish(note: string): Promise<void> {
    const path = pathOf(this.#directory, this.#own);
    try {
      await replaceFile(path, note, 0o644);
      this.#reported.delete(path);
    } catch (error) {
      this.#report(path, `the checkpoint could not be written for the peers: ${(error as Error).message}`);
    }
  }

  /** Reads the checkpoints of the peers. Never rejects. Returns whether one of them is newer than what was known. */
  async read(): Promise<boolean> {
    const isNew = await Promise.all(this.#peers.map((peer) => this.#readOne(peer)));
    return isNew.includes(true);
  }

  async #readOne(peer: VerifierKey): Promise<boolean> {
    let text: string;
    try {
      text = await readBeginning(pathOf(this.#directory, peer));
    } catch (error) {
      // It has not signed one yet.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        this.#report(
          peer.name,
          `the checkpoint of '${peer.name}' cannot be read: ${(error as Error).message}`,
        );
      return false;
    }
    const [checkpoint] = parseCheckpoints(text).checkpoints;
    if (checkpoint?.origin !== peer.name || checkNote(checkpoint.note, [peer]) !== "signed") {
      this.#report(peer.name, `the checkpoint of '${peer.name}' is not signed by its key: it is ignored`);
      return false;
    }
    const { origin, records, digest } = checkpoint;
    const known = this.#heads.get(origin);
    if (
      known !== undefined &&
      (records < known.records || (records === known.records && digest !== known.digest))
    ) {
      const how = records < known.records ? `has ${records} records` : "has another digest";
      this.#report(
        origin,
        `the journal of '${origin}' was cut or written anew: it had ${known.records} records, and its checkpoint now ${how}`,
      );
      return false;
    }
    this.#reported.delete(origin);
    if (known?.records === records) return false;
    this.#heads.set(origin, { origin, records, digest });
    return true;
  }

  #report(what: string, reason: string): void {
    if (this.#reported.get(what) === reason) return;
    this.#reported.set(what, reason);
    this.#onProblem(reason);
  }
}

/**
 * Returns what the checkpoints in the shared directory say of a journal: its own one, and those of peers that name it. Those that
 * cannot be read or trusted say nothing.
 */
export async function publishedHeads(
  directory: string,
  own: SigningKey,
  peers: readonly VerifierKey[],
): Promise<readonly KnownHead[]> {
  const heads: KnownHead[] = [];
  for (const key of [readVerifierKey(own.verifier), ...peers]) {
    const source = pathOf(directory, key);
    const [checkpoint] = parseCheckpoints(await readBeginning(source).catch(() => "")).checkpoints;
    if (checkpoint?.origin !== key.name || checkNote(checkpoint.note, [key]) !== "signed") continue;
    for (const { origin, records, digest } of [checkpoint, ...checkpoint.peers])
      if (origin === own.name) heads.push({ records, digest, source });
  }
  return heads;
}

function pathOf(directory: string, { id }: NoteKey): string {
  return join(directory, `${id}.checkpoint`);
}

async function readBeginning(path: string): Promise<string> {
  await using file = await openFile(path);
  const buffer = Buffer.alloc(MAX_BYTES);
  const { bytesRead } = await file.read(buffer, 0, MAX_BYTES, 0);
  return buffer.toString("utf8", 0, bytesRead);
}
