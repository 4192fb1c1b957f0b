import { type KeyObject, verify } from "node:crypto";

/**
 * How many signatures are verified at once. Node.js has four threads for these, for files and for names; verifications must
 * not take them all.
 */
const AT_ONCE = 2;

interface Verification {
  readonly base: Buffer;
  readonly key: KeyObject;
  readonly signature: Buffer;
  readonly settle: (isValid: boolean) => void;
}

/** Verifies signatures on other threads, in the order in which they arrive. */
export class VerificationQueue {
  readonly #waiting: Verification[] = [];
  #running = 0;

  /** Returns whether a signature is valid. Never rejects. */
  verify(base: Buffer, key: KeyObject, signature: Buffer): Promise<boolean> {
    return new Promise((settle) => {
      this.#waiting.push({ base, key, signature, settle });
      this.#next();
    });
  }

  #next(): void {
    if (this.#running >= AT_ONCE) return;
    const verification = this.#waiting.shift();
    if (verification === undefined) return;
    const { base, key, signature, settle } = verification;
    this.#running++;
    verify(null, base, key, signature, (error, isValid) => {
      this.#running--;
      settle(error === null && isValid);
      this.#next();
    });
  }
}
