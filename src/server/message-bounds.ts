import { race } from "../base/timers.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** Maximum number of messages of a session that are under way. */
const MAX_UNDER_WAY = 100;

/** The messages that the server has accepted, and that have not ended. */
export class MessagesUnderWay {
  readonly #sessions: Sessions;
  /** By session. */
  readonly #counts = new Map<string, number>();
  #onChange: (() => void) | undefined;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
    sessions.onConfirmation(() => this.check());
  }

  /** Must be called when a session has no running call any more. */
  check(): void {
    this.#onChange?.();
  }

  /** Adds a message of a session. Returns a function to be called at its end; `undefined` if there are too many. */
  begin(sessionId: string): (() => void) | undefined {
    const count = this.#counts.get(sessionId) ?? 0;
    if (count >= MAX_UNDER_WAY) return undefined;
    this.#counts.set(sessionId, count + 1);
    return () => {
      const left = (this.#counts.get(sessionId) ?? 1) - 1;
      if (left === 0) this.#counts.delete(sessionId);
      else this.#counts.set(sessionId, left);
      this.check();
    };
  }

  /** Resolves when every session with a message waits for a person and has no running call, or after this time. */
  async idle(maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onChange = () => {
      const waiting = new Set(this.#sessions.openConfirmations().map(({ sessionId }) => sessionId));
      const isIdle = (id: string): boolean =>
        waiting.has(id) && this.#sessions.get(id)?.lanes.isIdle !== false;
      if ([...this.#counts.keys()].every(isIdle)) resolve();
    };
    this.check();
    await race(promise, { timeoutMs: maxMs });
  }
}

/** The bytes of the turns of one session, of one principal, or of all. */
class Share<Turn> {
  readonly #max: number;
  /** The turns without a message under way. The one that was used last is the last. */
  readonly #idle = new Set<Turn>();
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isExceeded(): boolean {
    return this.#bytes > this.#max;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The turn to forget first; `undefined` if every turn has a message under way. */
  get oldestIdle(): Turn | undefined {
    return this.#idle.values().next().value;
  }

  setIdle(turn: Turn, isIdle: boolean): void {
    this.#idle.delete(turn);
    if (isIdle) this.#idle.add(turn);
  }
}

/** What a message costs besides its bytes, and those of its results. */
const MESSAGE_BYTES = 512;

/** The bytes of a retained turn: its messages, and the results of their calls. */
class RetainedTurn {
  readonly sessionId: string;
  readonly id: string;
  /** The shares that the turn counts in: of its session, of its principal, and of all. */
  readonly shares: readonly Share<RetainedTurn>[];
  /** Cancels the calls of the turn. */
  cancel: () => void = () => {};
  /** The bytes of each message. */
  readonly #messages = new Map<string, number>();
  #underWay = 0;
  /** Bytes of the results of messages under way, by their ids. */
  readonly #growth = new Map<string, number>();
  #bytes = 0;

  constructor(sessionId: string, id: string, shares: readonly Share<RetainedTurn>[]) {
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

  /** Begins a message. The bytes of one that the turn already has are not counted again. */
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

/** Maximum number of messages of a turn. */
const MAX_MESSAGES = 1_000;
/** Maximum number of turns of a session: as many as the session itself remembers. */
const MAX_TURNS = 1_000;

/**
 * Maximum number of bytes that are retained of a turn, a session and a principal, and in all: multiples of
 * the longest body.
 */
const TURN_BODIES = 4;
const SESSION_BODIES = 8;
const PRINCIPAL_BODIES = 16;
const ALL_BODIES = 64;

/** A turn of a session. */
export interface TurnPlace {
  readonly sessionId: string;
  /** The id of the session's principal; empty if it has none. */
  readonly principal: string;
  readonly turnId: string;
}

/** A message that has been taken in. */
export interface AdmittedMessage {
  /** Sets what cancels the calls of the turn. It must not throw. */
  cancelWith(cancel: () => void): void;
  /** Ends the message, whose results have this many bytes. */
  end(resultBytes: number): void;
  /** Ends the message, which was not accepted. */
  drop(): void;
}

/**
 * Why a message is not taken in. `full`: its turn can have no further one. `no-room`: there is no room for it now.
 */
export type NotEnforced = "full" | "no-room";

interface RetainedSession {
  readonly share: Share<RetainedTurn>;
  readonly turns: Map<string, RetainedTurn>;
  /** In the order in which they came: they run one after the other. */
  readonly underWay: Set<MessageUnderWay>;
}

interface MessageUnderWay {
  readonly turn: RetainedTurn;
  readonly id: string;
}

/**
 * Bounds the bytes of messages and of their results, by turn, session and principal, and in all. To make room, the turn that
 * was not used for the longest time is forgotten first, but none with a message under way.
 */
export class RetainedTurns {
  readonly #bodyBytes: number;
  readonly #onForgotten: (turn: RetainedTurn) => void;
  readonly #all: Share<RetainedTurn>;
  /** By principal. There are as many as the server has credentials. */
  readonly #principals = new Map<string, Share<RetainedTurn>>();
  readonly #sessions = new Map<string, RetainedSession>();

  /**
   * @param bodyBytes The most bytes of a message.
   * @param onForgotten Called with each turn that is forgotten. Must not throw.
   */
  constructor(bodyBytes: number, onForgotten: (turn: RetainedTurn) => void) {
    this.#bodyBytes = bodyBytes;
    this.#onForgotten = onForgotten;
    this.#all = new Share(bodyBytes * ALL_BODIES);
  }

  /** Takes in a message of this many bytes. One that is sent again is counted once. */
  begin(place: TurnPlace, messageId: string, bytes: number): AdmittedMessage | NotEnforced {
    const turn = this.#turn(place);
    const isNew = !turn.has(messageId);
    if (isNew && this.#isFull(turn, bytes)) return "full";
    turn.begin(messageId, bytes);
    const message: MessageUnderWay = { turn, id: messageId };
    this.#sessions.get(place.sessionId)?.underWay.add(message);
    const drop = (): void => {
      if (isNew) turn.drop(messageId);
      this.#end(message);
    };
    if (isNew && !this.#makeRoom(turn)) {
      drop();
      return "no-room";
    }
    const end = (resultBytes: number): void => {
      turn.settle(messageId, bytes, resultBytes);
      // The turn itself stays, however large its results are: the client has not read them.
      this.#makeRoom(turn);
      this.#end(message);
    };
    const cancelWith = (cancel: () => void): void => {
      turn.cancel = cancel;
    };
    return { cancelWith, end, drop };
  }

  /** Counts a result of the message of a session that runs. If there is no room for further ones, they are cancelled. */
  grow(sessionId: string, bytes: number): void {
    const running = this.#sessions.get(sessionId)?.underWay.values().next().value;
    if (running === undefined) return;
    const { turn, id } = running;
    turn.grow(id, bytes);
    if (!this.#makeRoom(turn)) turn.cancel();
  }

  /** Gives back the bytes of a session that is closed. */
  close(sessionId: string): void {
    for (const turn of this.#sessions.get(sessionId)?.turns.values() ?? []) turn.clear();
    this.#sessions.delete(sessionId);
  }

  #turn({ sessionId, principal, turnId }: TurnPlace): RetainedTurn {
    const bytes = this.#bodyBytes;
    const session = getOr(this.#sessions, sessionId, () => ({
      share: new Share<RetainedTurn>(bytes * SESSION_BODIES),
      turns: new Map<string, RetainedTurn>(),
      underWay: new Set<MessageUnderWay>(),
    }));
    const owner = getOr(this.#principals, principal, () => new Share<RetainedTurn>(bytes * PRINCIPAL_BODIES));
    const shares = [session.share, owner, this.#all];
    return getOr(session.turns, turnId, () => new RetainedTurn(sessionId, turnId, shares));
  }

  #isFull(turn: RetainedTurn, bytes: number): boolean {
    return turn.messageCount >= MAX_MESSAGES || turn.bytes + bytes > this.#bodyBytes * TURN_BODIES;
  }

  /** Forgets turns until the shares of a turn, which has a message under way, are not exceeded. */
  #makeRoom({ sessionId, shares }: RetainedTurn): boolean {
    const [own, owner] = shares;
    const turns = this.#sessions.get(sessionId)?.turns;
    while (turns !== undefined && turns.size > MAX_TURNS) if (!this.#forgetOldest(own)) return false;
    for (const share of shares) {
      while (share.isExceeded) {
        if (this.#forgetOldest(share)) continue;
        // Every principal may always buffer one body, even if the total is exhausted.
        return share === this.#all && owner !== undefined && owner.bytes <= this.#bodyBytes;
      }
    }
    return true;
  }

  /** Returns `false` if there is no idle turn. */
  #forgetOldest(share: Share<RetainedTurn> | undefined): boolean {
    const turn = share?.oldestIdle;
    if (turn === undefined) return false;
    this.#remove(turn);
    this.#onForgotten(turn);
    return true;
  }

  #end(message: MessageUnderWay): void {
    const { turn } = message;
    this.#sessions.get(turn.sessionId)?.underWay.delete(message);
    if (!turn.end()) return;
    if (turn.messageCount === 0) this.#remove(turn);
  }

  #remove(turn: RetainedTurn): void {
    turn.clear();
    const turns = this.#sessions.get(turn.sessionId)?.turns;
    if (turns?.get(turn.id) === turn) turns.delete(turn.id);
  }
}

function getOr<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
