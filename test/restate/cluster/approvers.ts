import { setTimeout as sleep } from "node:timers/promises";
import type { Client, ListedInquiry, PostedAnswer } from "./client.ts";
import type { Random } from "./random.ts";

/** What one approver was told about an answer. */
export interface ToldAnswer {
  readonly inquiryId: string;
  /** The name of the call that the inquiry was about. */
  readonly name: string;
  readonly by: string;
  readonly decision: string;
  readonly outcome: string;
  /** Who won, and with what. */
  readonly winner?: string;
  readonly won?: string;
}

const POLL_EVERY_MS = 200;
/** How often two people answer at once, and differently. */
const BOTH = 0.3;
const DENIED = 0.2;

/** People who answer what they see on any server, at another one. */
export class Approvers {
  readonly told: ToldAnswer[] = [];
  readonly #client: Client;
  readonly #random: Random;
  readonly #seen = new Set<string>();
  readonly #answering = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #polling: Promise<void>;

  constructor(client: Client, random: Random) {
    this.#client = client;
    this.#random = random;
    this.#polling = this.#poll();
  }

  /** Ends when all answers under way are told. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#polling;
    await Promise.all(this.#answering);
  }

  async #poll(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        for (const inquiry of await this.#client.confirmations(signal)) this.#see(inquiry);
        await sleep(POLL_EVERY_MS, undefined, { signal });
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  #see(inquiry: ListedInquiry): void {
    if (this.#seen.has(inquiry.requestId)) return;
    this.#seen.add(inquiry.requestId);
    const decision = this.#random() < DENIED ? "deny" : "allow";
    this.#answer(inquiry, { decision, digest: inquiry.digest, by: "ann" });
    if (this.#random() > BOTH) return;
    this.#answer(inquiry, {
      decision: decision === "deny" ? "allow" : "deny",
      digest: inquiry.digest,
      by: "bob",
    });
  }

  #answer(inquiry: ListedInquiry, answer: PostedAnswer): void {
    const told = this.#client.answer(inquiry, answer).then((outcome) => {
      const { by, decision } = answer;
      this.told.push({
        inquiryId: inquiry.requestId,
        name: nameOf(inquiry),
        by,
        decision,
        outcome: outcome.outcome,
        ...(outcome.resolution !== undefined && {
          ...(outcome.resolution.by !== undefined && { winner: outcome.resolution.by }),
          won: outcome.resolution.decision,
        }),
      });
    });
    this.#answering.add(told);
    void told.finally(() => this.#answering.delete(told));
  }
}

/** The call itself, or the program that makes it. */
function nameOf({ messageId, callId }: ListedInquiry): string {
  return `${messageId}/${callId.split("/")[0]}`;
}
