import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { AnswerOutcome } from "../../../src/sessions/confirmations/answer.ts";
import type { Inquiry } from "../../../src/sessions/confirmations/inquiry.ts";
import { pick, type Random } from "./random.ts";
import type { PostedAnswer, PostedMessage } from "./server.ts";

/** Milliseconds between two attempts, at most. */
const LONGEST_WAIT_MS = 400;

/** Speaks with any of the servers. What fails is sent again to another one. */
export class Client {
  readonly #urls: readonly string[];
  readonly #random: Random;
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: 512, pipelining: 1 });
  /** How many requests were sent again, and what servers said last why they refused one. */
  retries = 0;
  problem: string | undefined;

  constructor(urls: readonly string[], random: Random) {
    this.#urls = urls;
    this.#random = random;
  }

  /** Posts a message until its results are there. */
  message(message: PostedMessage, signal?: AbortSignal): Promise<readonly ToolExecution[]> {
    return this.#request("POST", "/messages", message, signal);
  }

  confirmations(signal?: AbortSignal): Promise<readonly Inquiry[]> {
    return this.#request("GET", "/confirmations", undefined, signal);
  }

  answer(id: string, answer: PostedAnswer, signal?: AbortSignal): Promise<AnswerOutcome> {
    return this.#request("POST", `/confirmations/${id}`, answer, signal);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #request<Result>(
    method: "GET" | "POST",
    path: string,
    body: unknown,
    signal?: AbortSignal,
  ): Promise<Result> {
    let url = pick(this.#random, this.#urls);
    for (let waitMs = 20; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      try {
        const response = await this.#agent.request({
          ...{ origin: url, path, method },
          ...(body !== undefined && {
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          }),
          signal: signal ?? null,
        });
        const text = await response.body.text();
        if (response.statusCode === 200) return JSON.parse(text) as Result;
        this.problem = text.slice(0, 300);
      } catch {
        signal?.throwIfAborted();
      }
      this.retries++;
      await sleep(waitMs, undefined, { ...(signal && { signal }) });
      const at = this.#urls.indexOf(url);
      url = this.#urls[(at + 1) % this.#urls.length] as string;
    }
  }
}
