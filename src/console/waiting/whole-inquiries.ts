import { type Inquiry, readInquiry, type WholeInquiry } from "../api/confirmations.ts";
import { inquiries } from "./inquiries.ts";

/** With how many others of its tool a call is compared, and how many are remembered, none of which is longer. */
const MAX_PEERS = 20;
const MAX_KNOWN = 500;
const MAX_CHARS = 16_384;

const known = new Map<string, WholeInquiry>();

/** Reads a whole inquiry, and remembers it for comparisons. */
export async function readWhole(inquiry: Inquiry): Promise<WholeInquiry> {
  const whole = await readInquiry(inquiry);
  if ((whole.arguments?.length ?? 0) <= MAX_CHARS) {
    known.delete(whole.requestId);
    known.set(whole.requestId, whole);
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  }
  return whole;
}

/** What was shown of other calls, and what waits of them. */
export interface Peers {
  /** Of the same tool. */
  readonly peers: readonly WholeInquiry[];
  /** Of other tools. */
  readonly others: readonly WholeInquiry[];
}

/** Reads other calls of the tool of an inquiry: those that were shown before, and those that wait as well. */
export async function readPeers({ requestId, toolName }: Inquiry): Promise<Peers> {
  const peers = [...known.values()].filter(
    (other) => other.toolName === toolName && other.requestId !== requestId,
  );
  const unknown = inquiries
    .peek()
    .map(({ inquiry }) => inquiry)
    .filter(
      (other) => other.toolName === toolName && other.requestId !== requestId && !known.has(other.requestId),
    )
    .slice(0, Math.max(0, MAX_PEERS - peers.length));
  for (const other of unknown) {
    try {
      peers.push(await readWhole(other));
    } catch {
      // It has just ended: there is one less to compare with.
    }
  }
  return {
    peers: peers.slice(-MAX_PEERS),
    others: [...known.values()].filter((other) => other.toolName !== toolName).slice(-MAX_KNOWN),
  };
}
