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
