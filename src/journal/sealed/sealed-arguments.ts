import { loadCrypto } from "../../base/load-crypto.ts";
import type { CanonicalJson } from "../../json/canonical.ts";
import { recordedName, type ShownArguments } from "../line/call-parts.ts";
import { AppendFile } from "../storage/append-file.ts";
import { seal } from "./seal.ts";
import type { SessionKeys } from "./session-keys.ts";

/** What a record shows in place of sealed arguments. */
const HIDDEN = '"[redacted: sealed]"';

/** Writes the sealed arguments of calls to a file beside the journal, one per line. */
export class SealedArguments implements AsyncDisposable {
  readonly keys: SessionKeys;
  #file: AppendFile;
  #waiting: string[] = [];

  constructor(keys: SessionKeys, file: AppendFile) {
    this.keys = keys;
    this.#file = file;
  }

  /** Seals the arguments of a call, which are written with the next {@link write}. */
  seal(canonical: CanonicalJson, sessionId: string): ShownArguments {
    const sealed = seal(canonical.text, canonical.digest, this.keys.keyOf(recordedName(sessionId)));
    this.#waiting.push(sealed);
    return { text: HIDDEN, digest: canonical.digest, sealed: loadCrypto().hash("sha256", sealed) };
  }

  /** Writes what was sealed, and before that the keys. */
  async write(): Promise<void> {
    if (this.#waiting.length === 0) return;
    await this.keys.save();
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      await this.#file.append(Buffer.from(waiting.map((line) => `${line}\n`).join("")));
    } catch (error) {
      this.#waiting.unshift(...waiting);
      throw error;
    }
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
