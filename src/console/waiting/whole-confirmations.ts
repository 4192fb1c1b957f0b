import type { OpenConfirmation, WholeConfirmation } from "../../shapes/confirmations.ts";
import { readConfirmation } from "../api/requests.ts";
import type { JsonMembers } from "../arguments/fields.ts";
import { comparable } from "../arguments/notices.ts";
import { confirmations } from "./confirmations.ts";

/** Maximum number of calls of its tool that a call is compared with, and of calls that are remembered. */
const MAX_PEERS = 20;
const MAX_KNOWN = 500;

/** What is compared of a call. */
interface Known {
  readonly toolName: string;
  readonly compared: JsonMembers;
}

const known = new Map<string, Known>();
const reading = new Map<string, Promise<WholeConfirmation>>();

/** Reads a whole confirmation, and remembers what other calls are compared with. */
export function readWhole(confirmation: OpenConfirmation): Promise<WholeConfirmation> {
  const { requestId } = confirmation;
  const earlier = reading.get(requestId);
  if (earlier !== undefined) return earlier;
  const read = readConfirmation(confirmation)
    .then((whole) => {
      remember(whole);
      return whole;
    })
    .finally(() => reading.delete(requestId));
  reading.set(requestId, read);
  return read;
}

function remember({ requestId, toolName, arguments: text }: WholeConfirmation): void {
  if (text === undefined) return;
  known.delete(requestId);
  known.set(requestId, { toolName, compared: comparable(JSON.parse(text)) });
  const [oldest] = known.keys();
  if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
}

/** The arguments of other calls that were shown or are pending. */
export interface Peers {
  /** Of the same tool. */
  readonly peers: readonly JsonMembers[];
  /** Of other tools. */
  readonly others: readonly JsonMembers[];
}

/** Reads other calls of the tool of a confirmation: those that were shown before, and those that are pending. */
export async function readPeers({ requestId, toolName }: OpenConfirmation): Promise<Peers> {
  const isPeer = (id: string, name: string): boolean => name === toolName && id !== requestId;
  const shown = [...known].filter(([id, call]) => isPeer(id, call.toolName)).length;
  const unknown = confirmations
    .peek()
    .map(({ confirmation }) => confirmation)
    .filter((other) => isPeer(other.requestId, other.toolName) && !known.has(other.requestId))
    .slice(0, Math.max(0, MAX_PEERS - shown));
  for (const other of unknown) {
    // It may have ended meanwhile.
    await readWhole(other).catch(() => {});
  }
  const calls = [...known];
  return {
    peers: calls
      .filter(([id, call]) => isPeer(id, call.toolName))
      .slice(-MAX_PEERS)
      .map(([, { compared }]) => compared),
    others: calls.filter(([, call]) => call.toolName !== toolName).map(([, { compared }]) => compared),
  };
}
