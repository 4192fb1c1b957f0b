import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Longer texts are none of ours. */
const MAX_CHARS = 1_024;

/** What a `requestState` says. */
export interface HeldState {
  /** The id of the call that is held. */
  readonly id: string;
  /** The round, which is answered once. */
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Seals what a client carries from one request to the next (AES-256-GCM), under a key of its own that is never stored: the
 * calls that are held end with the process, too.
 */
export class StateSeal {
  readonly #key = randomBytes(32);

  /** @param binding Whose request it is, and for what: the state opens for nothing else. */
  seal(state: HeldState, binding: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(digestOf(binding));
    const sealed = [iv, cipher.update(JSON.stringify(state), "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /** Returns what was sealed; `undefined` if the text was changed, is of another binding, or has expired. */
  open(text: string, binding: string): HeldState | undefined {
    // Decoding ignores other characters, so that changed texts would open too.
    if (text.length > MAX_CHARS || !/^[\w-]+$/.test(text)) return undefined;
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString("base64url") !== text) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES))
        .setAAD(digestOf(binding))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      const state = JSON.parse(opened.toString("utf8")) as HeldState;
      return state.expiresAt > Date.now() ? state : undefined;
    } catch {
      return undefined;
    }
  }
}

function digestOf(binding: string): Buffer {
  return hash("sha256", binding, "buffer");
}
