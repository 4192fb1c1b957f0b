import { createCipheriv, createDecipheriv, hash, randomBytes, randomUUID } from "node:crypto";
import type { Run } from "./run.ts";

const ALGORITHM = "aes-256-gcm";

const IV_BYTES = 12;

const TAG_BYTES = 16;

/** We never issue longer ones. */
const MAX_CHARS = 1_024;

/** What a `requestState` says. */
export interface PendingState {
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
  seal(state: PendingState, binding: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(digestOf(binding));
    const sealed = [iv, cipher.update(JSON.stringify(state), "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /** Returns what was sealed; `undefined` if the text was changed, is of another binding, or has expired. */
  open(text: string, binding: string): PendingState | undefined {
    // Decoding ignores other characters, so that changed texts would open too.
    if (text.length > MAX_CHARS || !/^[\w-]+$/.test(text)) return undefined;
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString("base64url") !== text) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES))
        .setAAD(digestOf(binding))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      const state = JSON.parse(opened.toString("utf8")) as PendingState;
      return state.expiresAt > Date.now() ? state : undefined;
    } catch {
      return undefined;
    }
  }
}

/** How long a call waits for the next request of its client, in milliseconds. */
const HELD_MS = 5 * 60_000;
/** How many calls of one principal, and of all, wait so. */
const MAX_OF_PRINCIPAL = 32;
const MAX_HELD = 1_000;

interface Held {
  readonly run: Run;
  readonly principal: string;
  readonly nonce: string;
  readonly timer: NodeJS.Timeout;
}

/**
 * The calls that wait for the next request of their clients, on the wire without sessions. Each round has a state of its own,
 * which is sealed, bound to the principal and to the request, and opens once.
 */
export class PendingRuns {
  readonly #held = new Map<string, Held>();
  readonly #seal = new StateSeal();
  readonly #pendingMs: number;

  /** @param pendingMs Milliseconds for which a call is held. Default: 5 minutes. */
  constructor(pendingMs: number = HELD_MS) {
    this.#pendingMs = pendingMs;
  }

  /**
   * Holds a call until {@link take}. When the time is over, the call is cancelled.
   *
   * @param principal The id of the principal; `""` if there is none.
   * @param binding What the next request must have in common with this one.
   * @returns the state for the client; `undefined` if there is no room, and the call is cancelled.
   */
  hold(run: Run, principal: string, binding: string): string | undefined {
    const own = [...this.#held.values()].filter((held) => held.principal === principal).length;
    if (own >= MAX_OF_PRINCIPAL || this.#held.size >= MAX_HELD) {
      run.cancel();
      return undefined;
    }
    const [id, nonce] = [randomUUID(), randomUUID()];
    const timer = setTimeout(() => {
      this.#held.delete(id);
      run.cancel();
    }, this.#pendingMs);
    timer.unref();
    this.#held.set(id, { run, principal, nonce, timer });
    const expiresAt = Date.now() + this.#pendingMs;
    return this.#seal.seal({ id, nonce, expiresAt }, bound(principal, binding));
  }

  /** Returns the call of a state, once; `undefined` if the state is not one of an open round for this request. */
  take(state: string, principal: string, binding: string): Run | undefined {
    const opened = this.#seal.open(state, bound(principal, binding));
    const held = opened && this.#held.get(opened.id);
    if (held === undefined || held.nonce !== opened?.nonce) return undefined;
    clearTimeout(held.timer);
    this.#held.delete(opened.id);
    return held.run;
  }

  /** Cancels all calls that are held. */
  close(): void {
    for (const { run, timer } of this.#held.values()) {
      clearTimeout(timer);
      run.cancel();
    }
    this.#held.clear();
  }
}

function bound(principal: string, binding: string): string {
  return JSON.stringify([principal, binding]);
}

function digestOf(binding: string): Buffer {
  return hash("sha256", binding, "buffer");
}
