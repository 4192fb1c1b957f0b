import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { loadCrypto } from "../../base/load-crypto.ts";
import type { JournalEntry } from "../line/entry.ts";
import { SessionKeys, unseal } from "../session-keys.ts";
import { LineReader } from "../storage/line-reader.ts";

/** Why the arguments of a record cannot be read. */
export type MissingArguments = "redacted" | "forgotten" | "none";

/** Reads the arguments of records, sealed or not. */
export class ArgumentReader {
  readonly #keys: SessionKeys;
  /** The sealed arguments by their digests. */
  readonly #sealed: ReadonlyMap<string, string>;

  private constructor(directory: string, sealed: ReadonlyMap<string, string>) {
    this.#keys = new SessionKeys(directory);
    this.#sealed = sealed;
  }

  /** @param directory Of the journal. */
  static async open(directory: string): Promise<ArgumentReader> {
    const sealed = new Map<string, string>();
    const names = await readdir(directory);
    for (const name of names.filter((each) => each.endsWith(".sealed"))) {
      for await (const lines of new LineReader(join(directory, name)).batches()) {
        for (const { bytes } of lines) {
          const text = bytes.toString("latin1");
          sealed.set(loadCrypto().hash("sha256", text), text);
        }
      }
    }
    return new ArgumentReader(directory, sealed);
  }

  /**
   * Opens what the arguments of one record need.
   *
   * @param directory Of the journal.
   * @param file With the sealed arguments. Default: none.
   * @param signal Ends the reading with its reason.
   */
  static async openFor(
    { sealed: wanted }: JournalEntry,
    directory: string,
    file: string | undefined,
    signal?: AbortSignal,
  ): Promise<ArgumentReader> {
    const sealed = new Map<string, string>();
    if (typeof wanted === "string" && file !== undefined && existsSync(file)) {
      for await (const lines of new LineReader(file).batches()) {
        signal?.throwIfAborted();
        const line = lines.find(({ bytes }) => loadCrypto().hash("sha256", bytes) === wanted);
        if (line === undefined) continue;
        sealed.set(wanted, line.bytes.toString("latin1"));
        break;
      }
    }
    return new ArgumentReader(directory, sealed);
  }

  /** Returns the canonical text of a call's arguments, which has the recorded digest, or why it cannot be read. */
  read(
    entry: JournalEntry,
    shown: string,
  ): { readonly text: string } | { readonly missing: MissingArguments } {
    const { argumentDigest, sealed, session } = entry;
    if (typeof argumentDigest !== "string") return { missing: "none" };
    if (typeof sealed !== "string") return check(shown, argumentDigest) ?? { missing: "redacted" };
    const key = this.#keys.find(String(session));
    const bytes = this.#sealed.get(sealed);
    if (key === undefined || bytes === undefined) return { missing: "forgotten" };
    return check(unseal(bytes, argumentDigest, key) ?? "", argumentDigest) ?? { missing: "forgotten" };
  }
}

function check(text: string, digest: string): { readonly text: string } | undefined {
  return loadCrypto().hash("sha256", text) === digest ? { text } : undefined;
}
