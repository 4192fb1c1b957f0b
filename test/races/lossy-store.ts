import type { Confirmation } from "../../src/sessions/confirmations/confirmation.ts";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import type { SessionStore } from "../../src/sessions/store/store.ts";
import type { Disk } from "./interleave.ts";

const WRITES = [
  "addSession",
  "setMode",
  "removeSession",
  "addMessage",
  "removeTurn",
  "count",
  "claim",
  "end",
  "addConfirmation",
  "resolveConfirmation",
  "addApproval",
  "useApproval",
  "removeApproval",
] as const;
const READS = [
  "sessions",
  "messages",
  "unfinishedMessages",
  "counts",
  "isCounted",
  "isForgotten",
  "turnIds",
  "calls",
  "confirmation",
  "pendingConfirmations",
  "approvals",
] as const;

type Method = (...args: readonly unknown[]) => unknown;

/**
 * A disk. What is written takes effect at once and is durable after `sync`; `crash` loses what was not synced. A handle
 * that was opened before a crash never answers again, like a process that is gone.
 */
export class LossyStore implements Disk {
  #current = new MemorySessionStore();
  #durable: (readonly [string, readonly unknown[]])[] = [];
  #pending: { readonly write: readonly [string, readonly unknown[]]; readonly resolve: () => void }[] = [];
  #generation = 0;
  #failsNext = false;
  readonly #isHonest: boolean;
  /** The ids of all confirmations that were ever written. */
  readonly confirmationIds: string[] = [];

  /** @param isHonest Whether it reports a write when it is durable; otherwise at once, like a disk that lies. Default: true. */
  constructor(isHonest = true) {
    this.#isHonest = isHonest;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** What is written so far, synced or not. */
  get current(): MemorySessionStore {
    return this.#current;
  }

  sync(): void {
    for (const { write, resolve } of this.#pending.splice(0)) {
      this.#durable.push(write);
      resolve();
    }
  }

  crash(): void {
    this.#generation++;
    this.#pending = [];
    this.#current = new MemorySessionStore();
    for (const [name, args] of this.#durable) methodOf(this.#current, name)(...args);
  }

  failNext(): void {
    this.#failsNext = true;
  }

  /** The store as a process sees it. */
  open(): SessionStore {
    const generation = this.#generation;
    const gone = new Promise<never>(() => {});
    const handle: Record<string, Method> = { close: () => {} };
    for (const name of WRITES) {
      handle[name] = (...args) => (this.#generation === generation ? this.#write(name, args) : gone);
    }
    for (const name of READS) {
      handle[name] = async (...args) => {
        if (this.#generation !== generation) return gone;
        const result = methodOf(this.#current, name)(...args);
        return result;
      };
    }
    return handle as unknown as SessionStore;
  }

  async #write(name: string, given: readonly unknown[]): Promise<unknown> {
    if (this.#failsNext) {
      this.#failsNext = false;
      throw new Error("the disk is full");
    }
    // Copied, like what is written to a file.
    const args: readonly unknown[] = JSON.parse(JSON.stringify(given));
    const result = methodOf(this.#current, name)(...args);
    if (name === "addConfirmation") this.confirmationIds.push((args[0] as Confirmation).id);
    const synced = new Promise<void>((resolve) => this.#pending.push({ write: [name, args], resolve }));
    if (this.#isHonest) await synced;
    return result;
  }
}

function methodOf(store: MemorySessionStore, name: string): Method {
  return (store as unknown as Record<string, Method>)[name]?.bind(store) as Method;
}
