import { FairQueue } from "../../base/fair-queue.ts";

const MIB = 1_024 * 1_024;

/** Bytes that all guests of open sandboxes may take outside of their threads. A guest that waits usually takes tens of KiB. */
const MAX_BYTES = 256 * MIB;

/** Bytes of one principal: it could open a session for each call. */
const MAX_PRINCIPAL_BYTES: number = MAX_BYTES / 2;

/** Bytes of one session, so that it cannot stop the others. */
const MAX_SESSION_BYTES: number = MAX_BYTES / 4;

/** The part of each share that what is in flight may take: the rest is for the heaps of guests, which cannot wait. */
const IN_FLIGHT = 3 / 4;

/**
 * Bytes that the oldest holder of a share may have although the share is used up. Otherwise several that have a part of what
 * they need could wait for each other.
 */
const OLDEST_BYTES: number = 16 * MIB;

/** On whose account memory is taken. */
export interface MemoryOwner {
  readonly sessionId: string;
  /** Absent if it is not known. */
  readonly principal?: { readonly id: string } | undefined;
}

/**
 * The memory that guests can fill in this process: their heaps while they wait, and what is in flight for them, such as bodies
 * and results. One budget in all, for each principal, and for each of its sessions.
 */
export class GuestMemory {
  readonly #all = new Shares(MAX_BYTES);
  readonly #principals = new Shares(MAX_PRINCIPAL_BYTES);
  readonly #sessions = new Shares(MAX_SESSION_BYTES);
  readonly #waiting = new FairQueue<Waiting>(({ lease: { owner } }) => ({
    principal: owner.principal?.id,
    session: owner.sessionId,
  }));

  /** Reserves memory for the heap of a waiting guest; `false` if one of the shares or the whole budget is used up. */
  reserve(owner: MemoryOwner, bytes: number): boolean {
    const hasRoom = this.#sharesOf(owner).every(([shares, name]) => shares.hasRoom(name, bytes));
    if (hasRoom) this.#add(owner, bytes);
    return hasRoom;
  }

  /** Releases what was reserved for a guest. */
  release(owner: MemoryOwner, bytes: number): void {
    this.#add(owner, -bytes);
    this.#serve();
  }

  /** Opens an account for something in flight. */
  open(owner: MemoryOwner): MemoryLease {
    const lease = new MemoryLease(owner, this);
    for (const [shares, name] of this.#sharesOf(owner)) shares.open(name, lease);
    return lease;
  }

  /** @internal */
  take(lease: MemoryLease, bytes: number): boolean {
    const hasRoom = this.#sharesOf(lease.owner).every(([shares, name]) => shares.allows(name, bytes, lease));
    if (hasRoom) this.#add(lease.owner, bytes);
    return hasRoom;
  }

  /** @internal */
  wait(lease: MemoryLease, bytes: number): Promise<boolean> {
    if (lease.bytes + bytes > Math.max(MAX_SESSION_BYTES * IN_FLIGHT, OLDEST_BYTES))
      return Promise.resolve(false);
    return new Promise((settle) => this.#waiting.add({ lease, bytes, settle }));
  }

  /** @internal */
  change(lease: MemoryLease, by: number): void {
    this.#add(lease.owner, by);
    if (by < 0) this.#serve();
  }

  /** @internal */
  close(lease: MemoryLease): void {
    for (const [shares, name] of this.#sharesOf(lease.owner)) shares.close(name, lease);
    this.#add(lease.owner, -lease.bytes);
    this.#serve();
  }

  /** Lets those go on for which there is room now. One that has none does not hinder those behind it. */
  #serve(): void {
    if (this.#waiting.size === 0) return;
    const left: Waiting[] = [];
    for (let next = this.#waiting.next(); next !== undefined; next = this.#waiting.next()) {
      const { lease, bytes, settle } = next;
      if (lease.isClosed) settle(false);
      else if (lease.take(bytes)) settle(true);
      else left.push(next);
    }
    this.#waiting.putBack(left);
  }

  #sharesOf({ sessionId, principal }: MemoryOwner): readonly (readonly [Shares, string])[] {
    const session: [Shares, string] = [this.#sessions, JSON.stringify([principal?.id, sessionId])];
    const all: [Shares, string] = [this.#all, ""];
    return principal === undefined ? [all, session] : [all, [this.#principals, principal.id], session];
  }

  #add(owner: MemoryOwner, bytes: number): void {
    for (const [shares, name] of this.#sharesOf(owner)) shares.add(name, bytes);
  }
}

interface Waiting {
  readonly lease: MemoryLease;
  readonly bytes: number;
  readonly settle: (hasRoom: boolean) => void;
}

/** What one thing in flight takes, until it is closed. */
export class MemoryLease {
  readonly owner: MemoryOwner;
  readonly #memory: GuestMemory;
  #bytes = 0;
  #isClosed = false;

  /** Opened by `GuestMemory.open`. */
  constructor(owner: MemoryOwner, memory: GuestMemory) {
    this.owner = owner;
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes bytes; `false` if there is no room for them now. */
  take(bytes: number): boolean {
    if (this.#isClosed || !this.#memory.take(this, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Takes bytes when there is room; `false` if there never will be, or the lease was closed before. */
  async wait(bytes: number): Promise<boolean> {
    return this.take(bytes) || (!this.#isClosed && (await this.#memory.wait(this, bytes)));
  }

  /** Says how many bytes it really takes, of those that it took. */
  settle(bytes: number): void {
    if (this.#isClosed) return;
    const by = bytes - this.#bytes;
    this.#bytes = bytes;
    this.#memory.change(this, by);
  }

  /** Gives everything back. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#memory.close(this);
    this.#bytes = 0;
  }
}

/** The bytes of several owners, each of which has the same maximum. */
class Shares {
  readonly #max: number;
  /** No entry is zero. */
  readonly #bytes = new Map<string, number>();
  /** What is in flight, the oldest first. No set is empty. */
  readonly #leases = new Map<string, Set<MemoryLease>>();

  constructor(max: number) {
    this.#max = max;
  }

  hasRoom(name: string, bytes: number): boolean {
    return (this.#bytes.get(name) ?? 0) + bytes <= this.#max;
  }

  allows(name: string, bytes: number, lease: MemoryLease): boolean {
    if ((this.#bytes.get(name) ?? 0) + bytes <= this.#max * IN_FLIGHT) return true;
    const [oldest] = this.#leases.get(name) ?? [];
    return oldest === lease && lease.bytes + bytes <= OLDEST_BYTES;
  }

  open(name: string, lease: MemoryLease): void {
    const leases = this.#leases.get(name);
    if (leases === undefined) this.#leases.set(name, new Set([lease]));
    else leases.add(lease);
  }

  close(name: string, lease: MemoryLease): void {
    const leases = this.#leases.get(name);
    leases?.delete(lease);
    if (leases?.size === 0) this.#leases.delete(name);
  }

  add(name: string, bytes: number): void {
    const taken = (this.#bytes.get(name) ?? 0) + bytes;
    if (taken > 0) this.#bytes.set(name, taken);
    else this.#bytes.delete(name);
  }
}
