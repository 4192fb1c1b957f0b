import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { ToolCall } from "../../../src/engine/call.ts";
import { PEOPLE, tokenOf } from "./project.ts";
import { pick, type Random } from "./random.ts";

/** A message of a session, which is opened with its first one. */
export interface PostedMessage {
  /** The client's own name of the session. */
  readonly sessionId: string;
  readonly principal: string;
  /** Also the id of its turn. */
  readonly messageId: string;
  readonly calls: readonly ToolCall[];
}

/** A confirmation as approvers see it in the list. */
export interface ListedConfirmation {
  readonly requestId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly callId: string;
  readonly digest: string;
  readonly expiresAt: number;
}

/** An answer of one of {@link PEOPLE}. */
export interface PostedAnswer {
  readonly decision: "allow" | "deny";
  readonly digest: string;
  readonly by: string;
}

/** What an approver is told. */
export interface ToldOutcome {
  readonly outcome: "resolved" | "lost" | "gone" | "unknown";
  /** Who was first, and with what. */
  readonly resolution?: { readonly decision: string; readonly by?: string };
}

/** Thrown if a server has answered what no other one would answer differently. */
export class FinalAnswer extends Error {
  override readonly name = "FinalAnswer";
  readonly status: number;
  readonly body: { readonly error?: { readonly code: string } } & Record<string, unknown>;

  constructor(status: number, body: FinalAnswer["body"]) {
    super(`${status} ${JSON.stringify(body).slice(0, 300)}`);
    this.status = status;
    this.body = body;
  }
}

interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly as: string;
  readonly body?: unknown;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds between two attempts, at most. */
const LONGEST_WAIT_MS = 400;

/** Speaks with any of the servers, as all principals and people. What fails is sent again to another one. */
export class Client {
  readonly #urls: readonly string[];
  readonly #random: Random;
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: 512, pipelining: 1 });
  readonly #sessions: Map<string, Promise<string>>;
  readonly #closing = new AbortController();
  readonly #underWay = new Map<Request, { readonly url: string; readonly since: number }>();
  /** How many requests were sent again, and what servers said last why they refused one. */
  retries = 0;
  problem: string | undefined;

  /** @param other A client whose sessions this one uses, too. */
  constructor(urls: readonly string[], random: Random, other?: Client) {
    this.#urls = urls;
    this.#random = random;
    this.#sessions = other === undefined ? new Map() : other.#sessions;
  }

  /** Posts a message until its results are there. @throws {FinalAnswer} if they never will be. */
  async message({
    sessionId: name,
    principal,
    messageId,
    calls,
  }: PostedMessage): Promise<readonly ToolExecution[]> {
    const session = await this.session(name, principal);
    const request: Request = {
      method: "POST",
      path: `/v1/sessions/${session}/turns`,
      as: principal,
      accept: "text/event-stream",
      body: { turnId: messageId, messageId, calls },
    };
    try {
      return await this.#request(request, (text) => executionsOf(text, messageId));
    } catch (error) {
      // A server that has lost its sessions: the next message opens another one.
      if (error instanceof FinalAnswer) this.#sessions.delete(name);
      throw error;
    }
  }

  /** Returns the server's id of a session, which is opened if it is new. */
  session(name: string, principal: string): Promise<string> {
    const known = this.#sessions.get(name);
    if (known !== undefined) return known;
    const request = { method: "POST", path: "/v1/sessions", as: principal, body: {} } as const;
    const opened = this.#request(request, (text) => (JSON.parse(text) as { id: string }).id);
    this.#sessions.set(name, opened);
    opened.catch(() => this.#sessions.delete(name));
    return opened;
  }

  confirmations(signal?: AbortSignal): Promise<readonly ListedConfirmation[]> {
    const request = { method: "GET", path: "/v1/confirmations", as: PEOPLE[0], signal } as const;
    return this.#request(
      request,
      (text) => (JSON.parse(text) as { confirmations: readonly ListedConfirmation[] }).confirmations,
    );
  }

  async answer(confirmation: ListedConfirmation, { by, ...body }: PostedAnswer): Promise<ToldOutcome> {
    const { sessionId, turnId, requestId } = confirmation;
    const path = `/v1/sessions/${sessionId}/turns/${turnId}/confirmations/${requestId}`;
    try {
      const resolution = await this.#request({ method: "POST", path, as: by, body }, (text) =>
        JSON.parse(text),
      );
      return { outcome: "resolved", resolution };
    } catch (error) {
      if (!(error instanceof FinalAnswer)) throw error;
      const { decision, by: winner, error: told } = error.body as never as Lost;
      if (told?.code === "already_answered") return { outcome: "lost", resolution: { decision, by: winner } };
      if (error.status === 410) return { outcome: "gone" };
      if (error.status === 404) return { outcome: "unknown" };
      throw error;
    }
  }

  /** The requests that have no answer yet, for how long, and where they were sent. */
  get waiting(): readonly string[] {
    return Array.from(this.#underWay, ([{ method, path, body }, { url, since }]) => {
      const seconds = Math.round((performance.now() - since) / 1_000);
      return `${method} ${url}${path} ${JSON.stringify(body ?? null).slice(0, 60)} for ${seconds} s`;
    });
  }

  /** Nothing is sent again, and what waits is rejected. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#agent.destroy();
  }

  /** @param read Returns `undefined` for an answer that was cut off. */
  async #request<Result>(request: Request, read: (text: string) => Result | undefined): Promise<Result> {
    const closing = this.#closing.signal;
    const signal = request.signal ? AbortSignal.any([request.signal, closing]) : closing;
    let url = pick(this.#random, this.#urls);
    for (let waitMs = 20; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      try {
        this.#underWay.set(request, { url, since: performance.now() });
        const { status, text } = await this.#send(url, request);
        const result = status < 300 ? read(text) : undefined;
        if (result !== undefined) return result;
        if (status >= 300) this.problem = text.slice(0, 300);
        if (isFinal(status)) throw new FinalAnswer(status, JSON.parse(text));
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof FinalAnswer) throw error;
      } finally {
        this.#underWay.delete(request);
      }
      this.retries++;
      await sleep(waitMs, undefined, { signal });
      const at = this.#urls.indexOf(url);
      url = this.#urls[(at + 1) % this.#urls.length] as string;
    }
  }

  async #send(
    url: string,
    { method, path, as, body, accept, signal }: Request,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const response = await this.#agent.request({
      origin: url,
      path,
      method,
      signal: signal ?? null,
      headers: {
        authorization: `Bearer ${tokenOf(as)}`,
        ...(accept !== undefined && { accept }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: response.statusCode, text: await response.body.text() };
  }
}

interface Lost {
  readonly error?: { readonly code: string };
  readonly decision: string;
  readonly by: string;
}

/** Whether every server would answer the same. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** Reads the results of a message out of the events of its session. */
function executionsOf(events: string, messageId: string): readonly ToolExecution[] | undefined {
  for (const event of events.split("\n\n").reverse()) {
    if (!event.includes("event: turn.ended")) continue;
    const data = event.split("\n").find((line) => line.startsWith("data: "));
    const ended = JSON.parse(data?.slice("data: ".length) ?? "{}") as {
      readonly messageId?: string;
      readonly executions?: readonly ToolExecution[];
    };
    if (ended.messageId === messageId) return ended.executions;
  }
  return undefined;
}
