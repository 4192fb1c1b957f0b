import { type KeyObject, verify } from "node:crypto";
import { FairQueue } from "../../base/fair-queue.ts";

/**
 * How many signatures are verified at once. Node.js has four threads for these, for files and for names; verifications must
 * not take them all.
 */
const AT_ONCE = 2;

interface Verification {
  readonly keyId: string;
  readonly base: Buffer;
  readonly key: KeyObject;
  readonly signature: Buffer;
  readonly settle: (isValid: boolean) => void;
}

/** Verifies signatures on other threads. Keys take turns. */
export class VerificationQueue {
  readonly #waiting = new FairQueue<Verification>(({ keyId }) => ({ principal: keyId }));
  #running = 0;

  /** Returns whether a signature is valid. Never rejects. */
  verify(keyId: string, base: Buffer, key: KeyObject, signature: Buffer): Promise<boolean> {
    return new Promise((settle) => {
      this.#waiting.add({ keyId, base, key, signature, settle });
      this.#next();
    });
  }

  #next(): void {
    if (this.#running >= AT_ONCE) return;
    const verification = this.#waiting.next();
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
