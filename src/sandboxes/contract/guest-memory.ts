import { FairQueue } from "../../base/fair-queue.ts";

const MIB = 1_024 * 1_024;

/** Bytes that all guests of open sandboxes may take outside of their threads. A guest that waits usually takes tens of KiB. */
const MAX_BYTES = 256 * MIB;

/** Bytes of one principal: it could open a session for each call. */
const MAX_PRINCIPAL_BYTES: number = MAX_BYTES / 2;

/** Bytes of one session, so that it cannot block other sessions. */
const MAX_SESSION_BYTES: number = MAX_BYTES / 4;

/**
 * The part of each share for data in flight. The remainder is reserved for the heaps of guests, which cannot
 * wait.
 */
const IN_FLIGHT = 3 / 4;

/**
 * Bytes that the oldest lease of a share may take although the share is used up. Otherwise, leases with a
 * part of what they need could wait for each other.
 */
const OLDEST_BYTES: number = 16 * MIB;

/** Bytes of a call's output that are not charged: most outputs are smaller, and take less than the call itself. */
const FREE_OUTPUT_BYTES: number = 64 * 1_024;

/** The principal and session that memory is charged to. */
export interface MemoryOwner {
  readonly sessionId: string;
  /** Absent if it is not known. */
  readonly principal?: { readonly id: string } | undefined;
}

/**
 * The memory that guests can fill in this process: their heaps while they wait, and what is in flight for
 * them, such as bodies, results and outputs. There is one budget for all, one for each principal, and one for
 * each of its sessions.
 */
export class GuestMemory {
  readonly #all = new Shares("all calls", MAX_BYTES);
  readonly #principals = new Shares("all calls of this principal", MAX_PRINCIPAL_BYTES);
  readonly #sessions = new Shares("all calls of this session", MAX_SESSION_BYTES);
  readonly #waiting = new FairQueue<QueuedReservation>(({ lease: { owner } }) => ({
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

  /**
   * Opens an account for something in flight.
   *
   * @param freeBytes Up to which nothing is charged. Default: 0.
   */
  open(owner: MemoryOwner, freeBytes = 0): MemoryLease {
    return new MemoryLease(owner, this, freeBytes);
  }

  /** Opens an account for what a call sends and receives, of which the first 64 KiB are not charged. */
  openForOutput(owner: MemoryOwner): MemoryLease {
    return this.open(owner, FREE_OUTPUT_BYTES);
  }

  /** @internal */
  register(lease: MemoryLease): void {
    for (const [shares, name] of this.#sharesOf(lease.owner)) shares.open(name, lease);
  }

  /** @internal */
  take(lease: MemoryLease, bytes: number): boolean {
    const hasRoom = this.#sharesOf(lease.owner).every(([shares, name]) => shares.allows(name, bytes, lease));
    if (hasRoom) this.#add(lease.owner, bytes);
    return hasRoom;
  }

  /** @internal */
  wait(lease: MemoryLease, bytes: number): Promise<boolean> {
    const isTooMuch = lease.bytes + bytes > MAX_SESSION_BYTES * IN_FLIGHT;
    if (isTooMuch || this.#isStuck(lease, bytes)) return Promise.resolve(false);
    return new Promise((settle) => this.#waiting.add({ lease, bytes, settle }));
  }

  /** Whether a share is used up and all of its leases wait, so that nothing would be released. */
  #isStuck(lease: MemoryLease, bytes: number): boolean {
    return this.#sharesOf(lease.owner).some(
      ([shares, name]) => !shares.allows(name, bytes, lease) && shares.allWaitBesides(name, lease),
    );
  }

  /**
   * Returns the text for the model when bytes are refused: which share is used up, and what to do.
   *
   * @param what The data that needs the bytes, such as `the output`.
   */
  refusal({ owner }: MemoryLease, what: string): string {
    const fullest = this.#sharesOf(owner).map(([shares, name]) => shares.left(name));
    const [least] = fullest.toSorted((one, other) => one.bytes - other.bytes);
    const { of = "all calls", maxBytes = MAX_BYTES } = least ?? {};
    return `There is no memory for ${what}: ${of} together may have ${maxBytes / MIB} MiB in flight; ask for less, or make fewer calls at once`;
  }

  /** @internal */
  change(lease: MemoryLease, by: number): void {
    this.#add(lease.owner, by);
    if (by < 0) this.#serve();
  }

  /** @internal */
  close(lease: MemoryLease, bytes: number): void {
    for (const [shares, name] of this.#sharesOf(lease.owner)) shares.close(name, lease);
    this.#add(lease.owner, -bytes);
    this.#serve();
  }

  /** Resumes waiting leases that fit now. One that does not fit does not block those behind it. */
  #serve(): void {
    if (this.#waiting.size === 0) return;
    const left: QueuedReservation[] = [];
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

interface QueuedReservation {
  readonly lease: MemoryLease;
  readonly bytes: number;
  readonly settle: (hasRoom: boolean) => void;
}

/** The memory of one operation in flight, until it is closed. */
export class MemoryLease {
  readonly owner: MemoryOwner;
  readonly #memory: GuestMemory;
  readonly #freeBytes: number;
  #bytes = 0;
  /** The charged bytes; `undefined` as long as the free bytes suffice. */
  #charged: number | undefined;
  /** The number of pending waits. */
  #waits = 0;
  #wasRefused = false;
  #isClosed = false;

  /** Opened by {@link GuestMemory.open}. */
  constructor(owner: MemoryOwner, memory: GuestMemory, freeBytes: number) {
    this.owner = owner;
    this.#memory = memory;
    this.#freeBytes = freeBytes;
    if (freeBytes === 0) this.#register();
  }

  #register(): number {
    this.#memory.register(this);
    this.#charged = 0;
    return 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isWaiting(): boolean {
    return this.#waits > 0;
  }

  /** Whether a request for bytes could never be satisfied. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** Takes bytes; `false` if they are not available now. */
  take(bytes: number): boolean {
    if (this.#isClosed) return false;
    const all = this.#bytes + bytes;
    if (this.#charged !== undefined || all > this.#freeBytes) {
      this.#charged ??= this.#register();
      if (!this.#memory.take(this, all - this.#charged)) return false;
      this.#charged = all;
    }
    this.#bytes = all;
    return true;
  }

  /**
   * Takes bytes as soon as they are available; `false` if they never will be, or the lease was closed before.
   */
  async wait(bytes: number): Promise<boolean> {
    if (this.take(bytes)) return true;
    if (this.#isClosed) return false;
    this.#waits++;
    const hasRoom = await this.#memory.wait(this, bytes);
    this.#waits--;
    if (!hasRoom && !this.#isClosed) this.#wasRefused = true;
    return hasRoom;
  }

  /** The text for the model if bytes were refused. See {@link GuestMemory.refusal}. */
  refusal(what: string): string {
    return this.#memory.refusal(this, what);
  }

  /** Sets the bytes that are actually needed, at most those that were taken. */
  settle(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes = bytes;
    if (this.#charged === undefined) return;
    const by = bytes - this.#charged;
    this.#charged = bytes;
    this.#memory.change(this, by);
  }

  /** Releases everything. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#charged !== undefined) this.#memory.close(this, this.#charged);
    this.#bytes = 0;
  }
}

/** The bytes of several owners, each of which has the same maximum. */
class Shares {
  readonly #of: string;
  readonly #max: number;
  /** No entry is zero. */
  readonly #bytes = new Map<string, number>();
  /** What is in flight, the oldest first. No set is empty. */
  readonly #leases = new Map<string, Set<MemoryLease>>();

  /** @param of The owners of a share, for the model. */
  constructor(of: string, max: number) {
    this.#of = of;
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

  /** Whether all leases except one wait for memory. The oldest seldom does, so that few are checked. */
  allWaitBesides(name: string, lease: MemoryLease): boolean {
    for (const other of this.#leases.get(name) ?? []) if (other !== lease && !other.isWaiting) return false;
    return true;
  }

  left(name: string): { readonly of: string; readonly maxBytes: number; readonly bytes: number } {
    const bytes = this.#max - (this.#bytes.get(name) ?? 0);
    return { of: this.#of, maxBytes: this.#max, bytes };
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
