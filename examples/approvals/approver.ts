import { createInterface } from "node:readline/promises";
import { setTimeout as delay } from "node:timers/promises";
import { requestJson } from "./request.ts";

/** A question of the server. `inputSummary` is safe to print: `sandgate confirm` shows the rest, too. */
export interface Question {
  readonly sessionId: string;
  readonly turnId: string;
  readonly requestId: string;
  readonly digest: string;
  readonly question: string;
  readonly inputSummary: string;
}

/** Decides on a question. */
export type Decide = (question: Question) => Promise<"allow" | "deny">;

/** The person's side: it answers every question that the server has. */
export class Approver {
  readonly #request: ReturnType<typeof requestJson>;
  readonly #decide: Decide;

  constructor(url: string, token: string, decide: Decide) {
    this.#request = requestJson(url, token);
    this.#decide = decide;
  }

  /** Answers until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { confirmations } = await this.#request<{ confirmations: Question[] }>(
        "GET",
        "/v1/confirmations",
      );
      for (const question of confirmations) await this.#answer(question);
      await delay(50, undefined, { signal }).catch(() => {});
    }
  }

  async #answer(question: Question): Promise<void> {
    const { sessionId, turnId, requestId, digest } = question;
    const decision = await this.#decide(question);
    const path = `/v1/sessions/${sessionId}/turns/${turnId}/confirmations/${requestId}`;
    // The digest says what the person has seen.
    await this.#request("POST", path, { decision, digest });
  }
}

/** Stands for a person: pencils may be ordered. */
export const decideByRule: Decide = async ({ inputSummary }) =>
  inputSummary === '{"item":"pencil"}' ? "allow" : "deny";

/** Asks the person at the terminal. */
export const askOnTerminal: Decide = async ({ question, inputSummary }) => {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${question} ${inputSummary} [y/n] `);
  terminal.close();
  return answer.trim().toLowerCase() === "y" ? "allow" : "deny";
};
