import { setTimeout as sleep } from "node:timers/promises";
import type { Client, ListedConfirmation, PostedAnswer } from "./client.ts";
import type { Random } from "./random.ts";

/** What one approver was told about an answer. */
export interface ToldAnswer {
  readonly confirmationId: string;
  /** The name of the call that the confirmation was about. */
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
        for (const confirmation of await this.#client.confirmations(signal)) this.#see(confirmation);
        await sleep(POLL_EVERY_MS, undefined, { signal });
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  #see(confirmation: ListedConfirmation): void {
    if (this.#seen.has(confirmation.requestId)) return;
    this.#seen.add(confirmation.requestId);
    const decision = this.#random() < DENIED ? "deny" : "allow";
    this.#answer(confirmation, { decision, digest: confirmation.digest, by: "ann" });
    if (this.#random() > BOTH) return;
    this.#answer(confirmation, {
      decision: decision === "deny" ? "allow" : "deny",
      digest: confirmation.digest,
      by: "bob",
    });
  }

  #answer(confirmation: ListedConfirmation, answer: PostedAnswer): void {
    const told = this.#client.answer(confirmation, answer).then((outcome) => {
      const { by, decision } = answer;
      this.told.push({
        confirmationId: confirmation.requestId,
        name: nameOf(confirmation),
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
function nameOf({ messageId, callId }: ListedConfirmation): string {
  return `${messageId}/${callId.split("/")[0]}`;
}
