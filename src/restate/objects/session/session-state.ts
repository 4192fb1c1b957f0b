import type {
  Confirmation,
  ConfirmationRecord,
  Resolution,
} from "../../../sessions/confirmations/confirmation.ts";
import type { SessionRecord } from "../../../sessions/store/store.ts";

/** Under `session`. */
export interface StoredSession {
  readonly record: SessionRecord;
  readonly place: number;
}

/** Under `head`: what was added last. */
export interface StoredHead {
  /** The place of it: places in a session only grow. */
  readonly place: number;
  /** The last message that later ones wait for. */
  readonly last?: LastMessage;
}

/** A message that runs, or has run. */
export interface LastMessage {
  readonly turnId: string;
  readonly messageId: string;
  readonly invocation: string;
}

/** Under `turn/TURN`: what there is of a turn, in the order in which it was added. */
export interface StoredTurn {
  /** Says which turn began first. */
  readonly place: number;
  readonly turnId: string;
  readonly messageIds: readonly string[];
  readonly inquiries: readonly ConfirmationEntry[];
  readonly isCancelled?: true;
}

/** A confirmation of the session. Its other members are in an object of their own. */
export interface ConfirmationEntry extends Pick<Confirmation, "id" | "messageId" | "callId" | "parent"> {
  readonly place: number;
}

/**
 * A {@link ConfirmationRecord} as handlers return it. Servers of other versions call them, and what is stored in Restate has
 * the same names: none of them changes.
 */
export interface StoredRecord {
  readonly inquiry: Confirmation;
  readonly resolution?: Resolution;
}

export function recordOf({ inquiry: confirmation, ...resolved }: StoredRecord): ConfirmationRecord {
  return { confirmation, ...resolved };
}

export function storedRecord({ confirmation, ...resolved }: ConfirmationRecord): StoredRecord {
  return { inquiry: confirmation, ...resolved };
}

/** Under `calls/TURN/MESSAGE`: how far the calls of a message have come. */
export interface StoredCalls {
  readonly place: number;
  readonly turnId: string;
  readonly messageId: string;
  /** The calls of the message, in order. */
  readonly callIds: readonly string[];
  /** The calls that something is known of, among them nested ones. */
  readonly states: readonly StoredCallState[];
}

export interface StoredCallState {
  readonly callId: string;
  /** Of the first who named the call. */
  readonly digest: string;
  readonly isCounted?: true;
  readonly isClaimed?: true;
  /** People are no longer asked about the calls that its tool makes. */
  readonly asksNobody?: true;
  /** Its execution is under `execution/TURN/MESSAGE/CALL`. */
  readonly isEnded?: true;
}

export const SESSION_KEY = "session";
export const HEAD_KEY = "head";
/** How many calls of each tool were counted, as pairs. */
export const COUNTS_KEY = "counts";
/** How many turns were removed. */
export const FORGOTTEN_COUNT_KEY = "forgotten";

export const TURN_PREFIX = "turn/";
export const CALLS_PREFIX = "calls/";

export function turnKey(turnId: string): string {
  return `${TURN_PREFIX}${part(turnId)}`;
}

export function messageKey(turnId: string, messageId: string): string {
  return `message/${part(turnId)}/${part(messageId)}`;
}

export function callsKey(turnId: string, messageId: string): string {
  return `${CALLS_PREFIX}${part(turnId)}/${part(messageId)}`;
}

export function executionKey(turnId: string, messageId: string, callId: string): string {
  return `execution/${part(turnId)}/${part(messageId)}/${part(callId)}`;
}

/** Under it is the number of the turn among those that were removed. */
export function forgottenKey(turnId: string): string {
  return `forgotten/turn/${part(turnId)}`;
}

/** Under it is the id of the turn that was removed with a number, of those with the same remainder the last one. */
export function forgottenPlaceKey(number: number, size: number): string {
  return `forgotten/place/${number % size}`;
}

/** Escapes slashes, so that no two lists of ids have the same key. */
function part(id: string): string {
  return JSON.stringify(id).slice(1, -1).replaceAll("/", "\\/");
}

/** Returns the place of what is added: that which it was given, or the next one if that is taken. */
export function nextPlace(given: number, head: StoredHead | null): number {
  return Math.max(given, (head?.place ?? 0) + 1);
}

/** Returns a turn of which nothing is stored yet. */
export function newTurn(turnId: string, place: number): StoredTurn {
  return { place, turnId, messageIds: [], inquiries: [] };
}

/** Whether every call of a message has ended. */
export function hasEnded({ callIds, states }: StoredCalls): boolean {
  return callIds.every((id) => states.some(({ callId, isEnded }) => callId === id && isEnded === true));
}
