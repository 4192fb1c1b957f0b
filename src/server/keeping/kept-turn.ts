import type { Share } from "./share.ts";

/** What a message costs besides its bytes, and those of its results. */
const MESSAGE_BYTES = 512;

/** The bytes of a turn that the server keeps: its messages, and the results of their calls. */
export class KeptTurn {
  readonly sessionId: string;
  readonly id: string;
  /** The shares that the turn counts in: of its session, of its principal, and of all. */
  readonly shares: readonly Share<KeptTurn>[];
  /** Cancels the calls of the turn. */
  cancel: () => void = () => {};
  /** The bytes of each message. */
  readonly #messages = new Map<string, number>();
  #underWay = 0;
  /** Bytes of the results of messages under way, by their ids. */
  readonly #growth = new Map<string, number>();
  #bytes = 0;

  constructor(sessionId: string, id: string, shares: readonly Share<KeptTurn>[]) {
    this.sessionId = sessionId;
    this.id = id;
    this.shares = shares;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get messageCount(): number {
    return this.#messages.size;
  }

  has(messageId: string): boolean {
    return this.#messages.has(messageId);
  }

  /** Begins a message. One that the turn has keeps its bytes. */
  begin(messageId: string, bytes: number): void {
    this.#underWay++;
    for (const share of this.shares) share.setIdle(this, false);
    if (!this.has(messageId)) this.#set(messageId, bytes + MESSAGE_BYTES);
  }

  /** Counts a result of a message under way, until it settles. */
  grow(messageId: string, bytes: number): void {
    this.#growth.set(messageId, (this.#growth.get(messageId) ?? 0) + bytes);
    this.#add(bytes);
  }

  /** Counts the results of a message that has ended. */
  settle(messageId: string, bytes: number, resultBytes: number): void {
    this.#add(-(this.#growth.get(messageId) ?? 0));
    this.#growth.delete(messageId);
    if (this.has(messageId)) this.#set(messageId, bytes + resultBytes + MESSAGE_BYTES);
  }

  /** Drops a message that was not accepted. */
  drop(messageId: string): void {
    this.#set(messageId, 0);
    this.#messages.delete(messageId);
  }

  /** Ends a message. Returns whether the turn is idle now. */
  end(): boolean {
    this.#underWay--;
    const isIdle = this.#underWay === 0 && this.messageCount > 0;
    if (isIdle) for (const share of this.shares) share.setIdle(this, true);
    return this.#underWay === 0;
  }

  /** Gives back all bytes of the turn. */
  clear(): void {
    this.#add(-this.#bytes);
    this.#growth.clear();
    this.#messages.clear();
    for (const share of this.shares) share.setIdle(this, false);
  }

  #set(messageId: string, bytes: number): void {
    const change = bytes - (this.#messages.get(messageId) ?? 0);
    this.#messages.set(messageId, bytes);
    this.#add(change);
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    for (const share of this.shares) share.add(bytes);
  }
}
