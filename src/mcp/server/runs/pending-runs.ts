import { createCipheriv, createDecipheriv, hash, randomBytes, randomUUID } from "node:crypto";
import type { Run } from "./run.ts";

const ALGORITHM = "aes-256-gcm";

const IV_BYTES = 12;

const TAG_BYTES = 16;

/** We never issue longer ones. */
const MAX_CHARS = 1_024;

/** The content of a `requestState`. */
export interface PendingState {
  /** The id of the pending call. */
  readonly id: string;
  /** The round, which is answered once. */
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Seals what a client carries from one request to the next (AES-256-GCM), under a key that is never stored:
 * pending calls end with the process, too.
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
const PENDING_MS = 5 * 60_000;
/** How many calls of one principal, and of all, may be pending. */
const MAX_OF_PRINCIPAL = 32;
const MAX_PENDING = 1_000;

interface PendingRun {
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
  readonly #pending = new Map<string, PendingRun>();
  readonly #seal = new StateSeal();
  readonly #pendingMs: number;

  /** @param pendingMs Milliseconds for which a call stays pending. Default: 5 minutes. */
  constructor(pendingMs: number = PENDING_MS) {
    this.#pendingMs = pendingMs;
  }

  /**
   * Adds a call, which stays pending until {@link take}. It is cancelled when the time is over.
   *
   * @param principal The id of the principal; `""` if there is none.
   * @param binding The parts of this request that the next one must repeat.
   * @returns the state for the client; `undefined` if too many calls are pending, and this one was cancelled.
   */
  add(run: Run, principal: string, binding: string): string | undefined {
    const own = [...this.#pending.values()].filter((run) => run.principal === principal).length;
    if (own >= MAX_OF_PRINCIPAL || this.#pending.size >= MAX_PENDING) {
      run.cancel();
      return undefined;
    }
    const [id, nonce] = [randomUUID(), randomUUID()];
    const timer = setTimeout(() => {
      this.#pending.delete(id);
      run.cancel();
    }, this.#pendingMs);
    timer.unref();
    this.#pending.set(id, { run, principal, nonce, timer });
    const expiresAt = Date.now() + this.#pendingMs;
    return this.#seal.seal({ id, nonce, expiresAt }, bound(principal, binding));
  }

  /** Returns the call of a state, once; `undefined` if the state is not one of an open round for this request. */
  take(state: string, principal: string, binding: string): Run | undefined {
    const opened = this.#seal.open(state, bound(principal, binding));
    const found = opened && this.#pending.get(opened.id);
    if (found === undefined || found.nonce !== opened?.nonce) return undefined;
    clearTimeout(found.timer);
    this.#pending.delete(opened.id);
    return found.run;
  }

  /** Cancels all pending calls. */
  close(): void {
    for (const { run, timer } of this.#pending.values()) {
      clearTimeout(timer);
      run.cancel();
    }
    this.#pending.clear();
  }
}

function bound(principal: string, binding: string): string {
  return JSON.stringify([principal, binding]);
}

function digestOf(binding: string): Buffer {
  return hash("sha256", binding, "buffer");
}
