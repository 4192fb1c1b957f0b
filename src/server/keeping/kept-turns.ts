import { KeptTurn } from "./kept-turn.ts";
import { Share } from "./share.ts";

/** The most messages of a turn. */
const MAX_MESSAGES = 1_000;
/** The most turns of a session: as many as the session itself remembers. */
const MAX_TURNS = 1_000;

/** The most bytes that are kept of a turn, a session and a principal, and in all: multiples of the longest body. */
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
export interface HeldMessage {
  /** Sets what cancels the calls of the turn. It must not throw. */
  cancelWith(cancel: () => void): void;
  /** Ends the message, whose results have so many bytes. */
  end(resultBytes: number): void;
  /** Ends the message, which was not accepted. */
  drop(): void;
}

/**
 * Why a message is not taken in. `full`: its turn can have no further one. `no-room`: there is no room for it now.
 */
export type NotHeld = "full" | "no-room";

interface KeptSession {
  readonly share: Share<KeptTurn>;
  readonly turns: Map<string, KeptTurn>;
  /** In the order in which they came: they run one after the other. */
  readonly underWay: Set<MessageUnderWay>;
}

interface MessageUnderWay {
  readonly turn: KeptTurn;
  readonly id: string;
}

/**
 * Bounds the bytes of messages and of their results, by turn, session and principal, and in all. To make room, the turn that
 * was not used for the longest time is forgotten first, but none with a message under way.
 */
export class KeptTurns {
  readonly #bodyBytes: number;
  readonly #onForgotten: (turn: KeptTurn) => void;
  readonly #all: Share<KeptTurn>;
  /** By principal. There are as many as the server has credentials. */
  readonly #principals = new Map<string, Share<KeptTurn>>();
  readonly #sessions = new Map<string, KeptSession>();

  /**
   * @param bodyBytes The most bytes of a message.
   * @param onForgotten Called with each turn that is forgotten. Must not throw.
   */
  constructor(bodyBytes: number, onForgotten: (turn: KeptTurn) => void) {
    this.#bodyBytes = bodyBytes;
    this.#onForgotten = onForgotten;
    this.#all = new Share(bodyBytes * ALL_BODIES);
  }

  /** Takes in a message of so many bytes. One that comes again is counted once. */
  begin(place: TurnPlace, messageId: string, bytes: number): HeldMessage | NotHeld {
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

  #turn({ sessionId, principal, turnId }: TurnPlace): KeptTurn {
    const bytes = this.#bodyBytes;
    const session = getOr(this.#sessions, sessionId, () => ({
      share: new Share<KeptTurn>(bytes * SESSION_BODIES),
      turns: new Map<string, KeptTurn>(),
      underWay: new Set<MessageUnderWay>(),
    }));
    const owner = getOr(this.#principals, principal, () => new Share<KeptTurn>(bytes * PRINCIPAL_BODIES));
    const shares = [session.share, owner, this.#all];
    return getOr(session.turns, turnId, () => new KeptTurn(sessionId, turnId, shares));
  }

  #isFull(turn: KeptTurn, bytes: number): boolean {
    return turn.messageCount >= MAX_MESSAGES || turn.bytes + bytes > this.#bodyBytes * TURN_BODIES;
  }

  /** Forgets turns until the shares of a turn, which has a message under way, are not exceeded. */
  #makeRoom({ sessionId, shares }: KeptTurn): boolean {
    const [own, owner] = shares;
    const turns = this.#sessions.get(sessionId)?.turns;
    while (turns !== undefined && turns.size > MAX_TURNS) if (!this.#forgetOldest(own)) return false;
    for (const share of shares) {
      while (share.isExceeded) {
        if (this.#forgetOldest(share)) continue;
        // Others hold everything: each principal has room for one body all the same.
        return share === this.#all && owner !== undefined && owner.bytes <= this.#bodyBytes;
      }
    }
    return true;
  }

  /** Returns `false` if there is no idle turn. */
  #forgetOldest(share: Share<KeptTurn> | undefined): boolean {
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

  #remove(turn: KeptTurn): void {
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
