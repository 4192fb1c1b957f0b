import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { readPartialList, UNUSABLE } from "./lists.ts";
import type { Notify } from "./notice.ts";
import { OwnCalls } from "./own-calls.ts";
import { type OpenCall, OpenCalls } from "./questions/open-calls.ts";
import { Rate } from "./rate.ts";
import { checkMessage, isUnusable, type MessageId, readMessage, type WireMessage } from "./wire-message.ts";

/** The member under which a result that the SDK need not check has its whole value. */
export const WHOLE = "sandgate/whole";

/** What the SDK reports of an answer that {@link readMessage} refuses. */
export const UNUSABLE_ANSWER = -32_603_001;

/** What the SDK reports of a request whose stream ended without an answer. */
export const STREAM_ENDED = -32_603_002;

/** Messages per second, other than answers. Further ones are ignored. */
const MAX_UNASKED = 1_000;

/** Problems in a second that are reported. */
const MAX_PROBLEMS = 10;

const ID = Buffer.from('"id"');

/** The longest error that is searched for a lost session, in characters. */
const MAX_SESSION_ERROR = 16_384;

/** Receives the events of a connection that its messages reveal. */
export interface FilteredConnection {
  /** The server may no longer know the session. Called once. */
  onLost?(why: string): void;
  /** The server may no longer know the session: a request would show it. */
  onSuspicion?(): void;
}

/**
 * Stands between a server and the SDK. It passes on only checked messages: answers to open requests, and a
 * bounded number of other messages. Lists and results of tools reach the SDK with their whole value in a
 * separate member, since its own check would refuse a whole list because of one tool.
 */
export class WireFilter {
  /** The calls in which the server can ask. */
  readonly calls: OpenCalls = new OpenCalls();
  /** The calls that do not go through the SDK: it must not get what belongs to them. */
  readonly own: OwnCalls = new OwnCalls();
  readonly #notify: Notify;
  readonly #open = new Map<MessageId, string>();
  readonly #unasked = new Rate(MAX_UNASKED);
  readonly #problems = new Rate(MAX_PROBLEMS);

  readonly #connection: FilteredConnection;
  /** Whether a stream of messages other than answers was open. */
  hasStream = false;
  /** Whether there was a sign that the session is lost, which proves nothing by itself. */
  isSuspected = false;
  /** Whether the connection was established: earlier refusals do not concern a session. */
  isConnected = false;
  #isLost = false;
  #hasAnswered = false;

  constructor(notify: Notify, connection: FilteredConnection = {}) {
    this.#notify = notify;
    this.#connection = connection;
  }

  /** Whether the server may no longer know the session of the connection. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Whether a call, or another request that belongs to one, was answered. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Reports a sign that the server no longer knows the session, for example after it was redeployed. */
  lose(why: string): void {
    if (this.#isLost || !this.isConnected) return;
    this.#isLost = true;
    this.#connection.onLost?.(why);
  }

  /**
   * The stream of messages other than answers can no longer be opened. A server need not have one, so that
   * this proves nothing.
   */
  suspect(): void {
    if (!this.hasStream) return;
    this.hasStream = false;
    this.isSuspected = true;
    this.#connection.onSuspicion?.();
  }

  /** Records which requests are open. */
  sending(message: object, signal?: AbortSignal): void {
    const { id, method, params } = message as WireMessage;
    if (id !== undefined && method !== undefined) {
      this.#open.set(id, method);
      signal?.addEventListener("abort", () => this.#open.delete(id), { once: true });
    } else if (method === "notifications/cancelled" && isJsonObject(params)) {
      this.#open.delete(params["requestId"] as MessageId);
    }
  }

  /** A request could not be sent. */
  unsent(message: object): void {
    const { id, method } = message as WireMessage;
    if (id !== undefined && method !== undefined) this.#open.delete(id);
  }

  /**
   * The stream of a request ended. Returns an answer in place of a missing one; `undefined` if it was
   * answered.
   */
  ended(message: object): WireMessage | undefined {
    const { id } = message as WireMessage;
    if (id === undefined || !this.#open.delete(id)) return undefined;
    return {
      jsonrpc: "2.0",
      id,
      error: { code: STREAM_ENDED, message: "the stream ended without an answer" },
    };
  }

  /** Reads a message. Returns it as the SDK may get it; `undefined` if it must not. */
  receive(bytes: Buffer): WireMessage | undefined {
    // Without an id it is no answer, so that a flood of notifications is not even parsed.
    if (this.#unasked.isExceeded && !bytes.includes(ID)) return this.#ignore();
    const message = this.#read(bytes.toString());
    const checked = message && this.check(message);
    if (checked?.method !== undefined) this.calls.cameAlone(checked);
    return checked;
  }

  /**
   * Reads the text of a message that the SDK may read itself. Returns `undefined` if it must not.
   *
   * @param call The call on whose stream it came, if it is one.
   */
  pass(text: string, call?: OpenCall): PassedMessage | undefined {
    if (isSessionError(text)) this.lose("it answered with an error about the session");
    const message = this.#read(text);
    if (message === undefined) return undefined;
    // Otherwise, the SDK would continue to wait for the answer.
    if (message.method === undefined && this.#askedBy(message) === undefined) return undefined;
    if (message.method !== undefined) {
      if (call === undefined) this.calls.cameAlone(message);
      else this.calls.came(message, call);
    }
    const isAnother = message.error?.code === UNUSABLE_ANSWER || message.result?.[UNUSABLE] !== undefined;
    return { message, text: isAnother ? JSON.stringify(message) : text };
  }

  /** An answer that cannot be used fails its request at once. */
  #read(text: string): WireMessage | undefined {
    const message = readMessage(text);
    if (!isUnusable(message)) return message;
    const { id, problem } = message;
    const asked = id === undefined ? undefined : this.#open.get(id);
    const partial = asked === undefined ? undefined : readPartialList(text, asked);
    const checked = partial === undefined ? message : checkMessage(partial);
    if (!isUnusable(checked)) return checked;
    this.problem(problem);
    if (id === undefined || !this.#open.has(id)) return undefined;
    return { jsonrpc: "2.0", id, error: { code: UNUSABLE_ANSWER, message: problem } };
  }

  /** Checks a message that was read. Returns it as the SDK may get it; `undefined` if it must not. */
  check(message: WireMessage): WireMessage | undefined {
    const { id, method, result } = message;
    if (method !== undefined) return this.#unasked.take() ? message : this.#ignore();
    const asked = this.#askedBy(message);
    if (id === undefined || asked === undefined) return undefined;
    this.#open.delete(id);
    if (OF_CALLS.has(asked)) this.#hasAnswered = true;
    return result === undefined || this.own.has(id)
      ? message
      : { ...message, result: setAside(asked, result) };
  }

  /**
   * The method of the open request that an answer belongs to. Reports a problem and returns `undefined` if
   * there is none.
   */
  #askedBy({ id }: WireMessage): string | undefined {
    const asked = id === undefined ? undefined : this.#open.get(id);
    if (asked === undefined) this.problem("it answered a request that is not open");
    return asked;
  }

  /** Reports a problem, unless there are too many. */
  problem(text: string): void {
    if (this.#problems.take()) this.#notify("problem", text);
    else if (this.#problems.isFirstExcess)
      this.#notify("problem", "there are more problems, which are not reported");
  }

  #ignore(): undefined {
    if (!this.#unasked.take() && this.#unasked.isFirstExcess) {
      this.problem(
        `it sends more than ${MAX_UNASKED} messages in a second: those that are no answers are ignored`,
      );
    }
  }
}

/** A message that the filter lets pass, before {@link WireFilter.check}. */
export interface PassedMessage {
  readonly message: WireMessage;
  /** As the SDK may read it. */
  readonly text: string;
}

const OF_CALLS: ReadonlySet<string> = new Set(["tools/call", "resources/read", "prompts/get"]);

/** Whether a text is an error of JSON-RPC about the session. Some servers send it with 200, and with `null` as its id. */
function isSessionError(text: string): boolean {
  if (text.length > MAX_SESSION_ERROR || !text.includes('"error"') || !/session/i.test(text)) return false;
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | null };
    return typeof error?.message === "string" && /session/i.test(error.message);
  } catch {
    return false;
  }
}

/** Absent counts as `complete`: servers of 2025, and some of 2026, answer without it. */
function setAside(method: string, result: JsonObject): JsonObject {
  const { resultType = "complete" } = result;
  if (resultType !== "complete") return result;
  if (method === "tools/call") return { resultType, content: [], [WHOLE]: result };
  if (method === "tools/list") {
    return { resultType, tools: [], ttlMs: 0, cacheScope: "private", [WHOLE]: result };
  }
  return result["resultType"] === undefined ? { ...result, resultType } : result;
}
