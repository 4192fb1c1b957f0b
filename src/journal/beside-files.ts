import { loadCrypto } from "../base/load-crypto.ts";
import type { CanonicalJson } from "../json/canonical.ts";
import { Anchors } from "./checkpoints/anchors.ts";
import { CheckpointWriter } from "./checkpoints/checkpoint-writer.ts";
import { PeerCheckpoints } from "./checkpoints/peers.ts";
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
export interface BesideSurroundings {
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
