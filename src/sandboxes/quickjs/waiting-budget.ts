/** Bytes that all waiting guests of a sandbox may hold. A guest that waits usually holds tens of KiB. */
const MAX_BYTES = 256 * 1_024 * 1_024;

/** Bytes that the waiting guests of one principal may hold: it could open a session for each call. */
const MAX_PRINCIPAL_BYTES: number = MAX_BYTES / 2;

/** Bytes that the waiting guests of one session may hold, so that one session cannot stop the others. */
const MAX_SESSION_BYTES: number = MAX_BYTES / 4;

/** On whose account a guest waits. */
export interface WaitingOwner {
  readonly sessionId: string;
  /** Absent if it is not known: then only the session counts. */
  readonly principal?: { readonly id: string } | undefined;
}

/** The memory for guests that wait for replies: one budget for all calls of a sandbox. */
export class WaitingBudget {
  readonly #sessions = new Shares(MAX_SESSION_BYTES);
  readonly #principals = new Shares(MAX_PRINCIPAL_BYTES);
  #bytes = 0;

  /** Reserves memory for a waiting guest; `false` if one of the shares or the whole budget is used up. */
  reserve({ sessionId, principal }: WaitingOwner, bytes: number): boolean {
    const hasRoom =
      this.#bytes + bytes <= MAX_BYTES &&
      this.#sessions.hasRoom(sessionId, bytes) &&
      (principal === undefined || this.#principals.hasRoom(principal.id, bytes));
    if (hasRoom) this.#add({ sessionId, principal }, bytes);
    return hasRoom;
  }

  /** Releases what was reserved for a guest. */
  release(owner: WaitingOwner, bytes: number): void {
    this.#add(owner, -bytes);
  }

  #add({ sessionId, principal }: WaitingOwner, bytes: number): void {
    this.#bytes += bytes;
    this.#sessions.add(sessionId, bytes);
    if (principal !== undefined) this.#principals.add(principal.id, bytes);
  }
}

/** The bytes of several holders, each of which has the same maximum. */
class Shares {
  readonly #max: number;
  /** No entry is zero. */
  readonly #bytes = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  hasRoom(holder: string, bytes: number): boolean {
    return (this.#bytes.get(holder) ?? 0) + bytes <= this.#max;
  }

  add(holder: string, bytes: number): void {
    const held = (this.#bytes.get(holder) ?? 0) + bytes;
    if (held > 0) this.#bytes.set(holder, held);
    else this.#bytes.delete(holder);
  }
}
