import { loadCrypto } from "../base/load-crypto.ts";
import type { CanonicalJson } from "../json/canonical.ts";
import { Anchors } from "./checkpoints/anchors.ts";
import { type CheckpointHead, parseCheckpoints, signCheckpoint } from "./checkpoints/checkpoint.ts";
import { PeerCheckpoints } from "./checkpoints/peers.ts";
import { checkNote, readVerifierKey, type SigningKey } from "./checkpoints/signed-note.ts";
import { withRemedy } from "./journal-error.ts";
import { recordedName, type ShownArguments } from "./line/call-parts.ts";
import type { ChainHead } from "./line/entry.ts";
import type { CheckedOptions, JournalNotice } from "./options.ts";
import { type SessionKeys, seal } from "./session-keys.ts";
import { besideFile } from "./storage/file-names.ts";
import { AppendFile } from "./storage/file-writing.ts";

/** What a record shows in place of sealed arguments. */
const HIDDEN = '"[redacted: sealed]"';

/** Writes the sealed arguments of calls to a file beside the journal, one per line. */
class SealedArguments implements AsyncDisposable {
  readonly #keys: SessionKeys;
  #file: AppendFile;

  constructor(keys: SessionKeys, file: AppendFile) {
    this.#keys = keys;
    this.#file = file;
  }

  /** Why nothing can be written to the file; `undefined` if it can. */
  get problem(): string | undefined {
    return this.#file.problem;
  }

  /** Seals the arguments of a call, which must be written before its record. */
  seal(canonical: CanonicalJson, sessionId: string): ShownArguments & { readonly line: string } {
    const line = seal(canonical.text, canonical.digest, this.#keys.keyOf(recordedName(sessionId)));
    return { text: HIDDEN, digest: canonical.digest, sealed: loadCrypto().hash("sha256", line), line };
  }

  /**
   * Writes sealed arguments, and before that the keys.
   *
   * @param isDurable Whether they must be on the disk then.
   */
  async write(sealed: readonly string[], isDurable: boolean): Promise<void> {
    await this.#keys.save();
    await this.#file.append(Buffer.from(sealed.map((line) => `${line}\n`).join("")));
    if (isDurable) await this.sync();
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** Puts the following arguments in a file beside the journal's next file. */
  async continueIn(path: string): Promise<void> {
    const before = this.#file;
    this.#file = await AppendFile.open(path);
    await before.sync();
    await before[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]();
  }
}

/** The parts of a journal that the files beside it use. */
interface BesideSurroundings {
  readonly keys: SessionKeys;
  /** Makes the journal durable: a checkpoint must not be ahead of it. */
  readonly sync: () => Promise<void>;
  readonly notify: (kind: JournalNotice["kind"], message: string) => void;
}

/** The files beside a journal's file, which are continued with it: sealed arguments and checkpoints, if it has them. */
export class BesideFiles implements AsyncDisposable {
  readonly #resources = new AsyncDisposableStack();
  #sealed: SealedArguments | undefined;
  #checkpoints: CheckpointWriter | undefined;

  /**
   * Opens those that the options ask for.
   *
   * @param path The journal's last file.
   * @param head The end of the journal.
   * @throws what the file system throws, as a rejection. What was opened is closed with the object.
   */
  async open(
    path: string,
    head: ChainHead,
    { arguments: storage, key, anchors, peers }: CheckedOptions,
    { keys, sync, notify }: BesideSurroundings,
  ): Promise<void> {
    if (storage === "sealed") {
      const sealed = await AppendFile.open(besideFile(path, "sealed"));
      this.#sealed = this.#resources.use(new SealedArguments(keys, sealed));
      // Ends a line that a crash left half-written.
      if (sealed.size > 0) await sealed.append(Buffer.from("\n"));
    }
    if (key !== undefined) {
      const copies = new Anchors(anchors, (reason) =>
        notify("anchor", `a checkpoint was not copied: ${reason}`),
      );
      this.#checkpoints = this.#resources.use(
        await CheckpointWriter.open(besideFile(path, "checkpoints"), key, head, {
          anchors: copies,
          peers:
            peers &&
            new PeerCheckpoints(peers.directory, key, peers.keys, (reason) => notify("peer", reason)),
          sync,
          onFailed: (reason) => notify("checkpoint", `a checkpoint could not be kept: ${withRemedy(reason)}`),
        }),
      );
    }
  }

  /** Seals the arguments of a call; `undefined` if the journal does not seal any. */
  seal(canonical: CanonicalJson, sessionId: string): ShownArguments | undefined {
    return this.#sealed?.seal(canonical, sessionId);
  }

  /** Why what records name cannot be written; `undefined` if it can. */
  get problem(): string | undefined {
    return this.#sealed?.problem;
  }

  /**
   * Writes the sealed arguments that records name, before these.
   *
   * @param isDurable Whether they must be on the disk then.
   */
  write(sealed: readonly string[], isDurable: boolean): Promise<void> | undefined {
    return sealed.length === 0 ? undefined : this.#sealed?.write(sealed, isDurable);
  }

  /** Notes the journal's new end. */
  follow(head: ChainHead): void {
    this.#checkpoints?.follow(head);
  }

  /** Goes on beside the journal's next file. */
  async continueIn(path: string): Promise<void> {
    await this.#checkpoints?.continueIn(besideFile(path, "checkpoints"));
    await this.#sealed?.continueIn(besideFile(path, "sealed"));
  }

  /** Makes the sealed arguments durable, and signs a last checkpoint. */
  async finish(): Promise<void> {
    await this.#sealed?.sync();
    await this.#checkpoints?.signNow();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

/** A checkpoint is signed after this many records. */
const MAX_RECORDS = 1_000;
/** A checkpoint is signed at most so long after a record. */
const MAX_AGE_MS = 1_000;

interface OwnCheckpoints {
  readonly file: AppendFile;
  /** The number of records that they cover. */
  readonly covered: number;
  /** What the last one named of peers. */
  readonly peers: readonly CheckpointHead[];
}

/** What a writer of checkpoints works with. */
interface CheckpointSurroundings {
  readonly anchors: Anchors;
  /** The journals that checkpoints name. Default: none. */
  readonly peers: PeerCheckpoints | undefined;
  /** Makes the journal durable: a checkpoint must not be ahead of it. */
  readonly sync: () => Promise<void>;
  readonly onFailed: (reason: string) => void;
}

/** Signs checkpoints of a journal, writes them to a file beside it and copies them to its anchors. */
class CheckpointWriter implements AsyncDisposable {
  readonly #key: SigningKey;
  readonly #surroundings: CheckpointSurroundings;
  #file: AppendFile;
  /** The end of the journal. */
  #head: ChainHead;
  /** The number of records that the last checkpoint covers. */
  #covered: number;
  /** Whether a peer has a checkpoint that the last one does not name. */
  #hasNewPeers = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #peerTimer: NodeJS.Timeout | undefined;
  #signing: Promise<void> | undefined;

  private constructor(
    key: SigningKey,
    { file, covered, peers }: OwnCheckpoints,
    head: ChainHead,
    surroundings: CheckpointSurroundings,
  ) {
    this.#key = key;
    this.#file = file;
    this.#head = head;
    this.#covered = covered;
    this.#surroundings = surroundings;
    surroundings.peers?.remember(peers);
    if (surroundings.peers !== undefined)
      this.#peerTimer = setInterval(this.#onPeerTimer, MAX_AGE_MS).unref();
  }

  /**
   * Opens the checkpoints beside a journal's last file.
   *
   * @param head The end of the journal, which does not contradict them.
   */
  static async open(
    path: string,
    key: SigningKey,
    head: ChainHead,
    surroundings: CheckpointSurroundings,
  ): Promise<CheckpointWriter> {
    return new CheckpointWriter(key, await openOwn(path, key), head, surroundings);
  }

  /** Notes the journal's new end. */
  follow(head: ChainHead): void {
    this.#head = head;
    if (head.seq - this.#covered >= MAX_RECORDS) this.#signing ??= this.#sign();
    else this.#timer ??= setTimeout(this.#onTimer, MAX_AGE_MS).unref();
  }

  /** Signs the journal's end, unless a checkpoint covers it and names what is known of peers. */
  async signNow(): Promise<void> {
    await this.#signing;
    await this.#lookAtPeers();
    await this.#signing;
    if (this.#head.seq <= this.#covered && !this.#hasNewPeers) return;
    this.#signing ??= this.#sign();
    await this.#signing;
  }

  /** Puts the following checkpoints in a file beside the journal's next file. */
  async continueIn(path: string): Promise<void> {
    const next = await AppendFile.open(path);
    await this.signNow();
    const before = this.#file;
    this.#file = next;
    await before[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    clearInterval(this.#peerTimer);
    await this.#signing;
    await this.#file[Symbol.asyncDispose]();
    await this.#surroundings.anchors[Symbol.asyncDispose]();
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#head.seq > this.#covered) this.#signing ??= this.#sign();
  };

  readonly #onPeerTimer = async (): Promise<void> => {
    await this.#lookAtPeers();
    if (this.#hasNewPeers) this.#signing ??= this.#sign();
  };

  /**
   * A new checkpoint of a peer is reason enough to sign one, without new records. That ends: the peer has nothing new to
   * name then, since this journal has not grown.
   */
  async #lookAtPeers(): Promise<void> {
    if ((await this.#surroundings.peers?.read()) === true) this.#hasNewPeers = true;
  }

  /** Never rejects: the journal itself is sound, and the next checkpoint covers the same records. */
  async #sign(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { seq, digest } = this.#head;
    const { anchors, peers, sync, onFailed } = this.#surroundings;
    try {
      await sync();
      await this.#lookAtPeers();
      const heads = peers?.heads ?? [];
      this.#hasNewPeers = false;
      const note = signCheckpoint(seq, digest, this.#key, heads);
      await this.#file.append(Buffer.from(`${this.#file.size === 0 ? "" : "\n"}${note}`));
      this.#covered = seq;
      anchors.copy(note);
      await peers?.publish(note);
    } catch (error) {
      onFailed((error as Error).message);
      this.#timer ??= setTimeout(this.#onTimer, MAX_AGE_MS).unref();
    }
    this.#signing = undefined;
    if (this.#head.seq - this.#covered >= 2 * MAX_RECORDS) this.#signing = this.#sign();
    else if (this.#head.seq > this.#covered) this.#timer ??= setTimeout(this.#onTimer, MAX_AGE_MS).unref();
  }
}

async function openOwn(path: string, key: SigningKey): Promise<OwnCheckpoints> {
  const file = await AppendFile.open(path);
  try {
    const text = (await file.readFrom(0)).toString();
    const { checkpoints, rest } = parseCheckpoints(text);
    // A crash can leave a part of a checkpoint.
    if (rest !== "") await file.cutBack(file.size - Buffer.byteLength(rest));
    const trusted = [readVerifierKey(key.verifier)];
    const own = checkpoints.filter(({ note }) => checkNote(note, trusted) === "signed");
    const last = own.at(-1);
    return { file, covered: last?.records ?? 0, peers: last?.peers ?? [] };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}
