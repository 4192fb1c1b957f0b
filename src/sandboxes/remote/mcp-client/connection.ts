import type { Transport } from "@modelcontextprotocol/client";
import { race } from "../../../base/timers/race.ts";
import { type ListedOffers, listOffers } from "./list/list-offers.ts";
import { type ListedTools, listTools } from "./list/list-tools.ts";
import { type Notify, noticesOf, type OnMcpNotice } from "./notice.ts";
import type { ServerAsks } from "./questions/asked-requests.ts";
import { Rate } from "./rate.ts";
import { Restarts } from "./restarts.ts";
import { loadSdk, type Sdk } from "./sdk.ts";
import { keepSubscribed } from "./subscription.ts";
import { AuthorizationError, UnsentError, unsentErrorIn } from "./unsent.ts";
import { LIST_KINDS, type ListKind, type McpServerInfo, Wire } from "./wire.ts";
import { WireFilter } from "./wire-filter.ts";

/** Milliseconds until a server that wants a login is tried again: someone may have logged in meanwhile. */
const LOGIN_RETRY_MS = 60_000;

/** Messages that a server logs, in a second, that reach the log. */
const MAX_LOGS = 20;

/** Opens a transport to a server. The filter checks what it sends and receives. */
export type OpenTransport = (sdk: Sdk, filter: WireFilter, notify: Notify) => Promise<Transport>;

/** Options of {@link McpConnection}. */
export interface McpConnectionOptions {
  /** The name of the server in the configuration. */
  readonly name: string;
  readonly open: OpenTransport;
  /** Milliseconds for the first answer, in which a person may have to log in. Default: those of each other request. */
  readonly connectTimeoutMs?: number | undefined;
  readonly onNotice?: OnMcpNotice | undefined;
  /** What the server may ask of the client of a call. Default: nothing. */
  readonly asks?: ServerAsks | undefined;
}

/** What is told to those who use a connection. */
export interface McpConnectionListener {
  /** The server was connected, again or for the first time: its lists may be other ones. */
  onConnected?(): void;
  onListChanged?(kind: ListKind): void;
}

/** There is no connection to a server. `message` is for operators. */
export class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
}

/**
 * The connection to one server. It is opened on first use and again after it ended, with a growing pause and at most five times
 * in ten minutes.
 */
export class McpConnection {
  readonly name: string;
  readonly #open: OpenTransport;
  readonly #connectTimeoutMs: number | undefined;
  readonly #notify: Notify;
  readonly #asks: ServerAsks;
  readonly #listeners = new Set<McpConnectionListener>();
  readonly #restarts = new Restarts();
  readonly #logs = new Rate(MAX_LOGS);
  readonly #closing = new AbortController();
  #wire: Wire | undefined;
  #connecting: Promise<Wire> | undefined;
  /** Whether the server ended when it was asked `server/discover`. */
  #isLegacy = false;
  #isDown = false;
  #current: Transport | undefined;
  #hasBegun = false;
  /** Tries a server again that wants a login. */
  #retry: NodeJS.Timeout | undefined;
  /** The pause before the next attempt. */
  #pausing: NodeJS.Timeout | undefined;

  constructor({ name, open, connectTimeoutMs, onNotice, asks = {} }: McpConnectionOptions) {
    this.#asks = asks;
    this.name = name;
    this.#open = open;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#notify = noticesOf(name, onNotice);
  }

  /** Adds a listener, and returns a function that removes it. */
  listen(listener: McpConnectionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What the server says about itself; `undefined` while it is not connected. */
  get info(): McpServerInfo | undefined {
    return this.#wire?.isClosed === false ? this.#wire.info : undefined;
  }

  /**
   * Returns the live wire, and opens it first if there is none. It waits for one attempt, and for the pause before it.
   *
   * @throws {NotConnectedError} if it cannot be opened, or the signal is aborted.
   */
  async wire(signal?: AbortSignal): Promise<Wire> {
    if (this.#wire?.isClosed === false) return this.#wire;
    if (this.#closing.signal.aborted) throw new NotConnectedError("the connection is closed");
    const connecting = this.#begin();
    this.#pausing?.ref();
    const wire = await race(connecting, { signals: [signal] });
    if (wire === "aborted") throw new NotConnectedError("the server is not connected yet");
    return wire;
  }

  /**
   * Lists the tools.
   *
   * @throws if it has no connection, or the list exceeds the bounds.
   */
  async listTools(): Promise<ListedTools> {
    const wire = await this.wire();
    return await listTools((method, params) => wire.request(method, params, this.#closing.signal), {
      hasTools: wire.info.capabilities["tools"] !== undefined,
      // Headers are sent over HTTP only, where tools with invalid ones must be left out.
      checksHeaders: wire.isModern && !wire.isStdio,
    });
  }

  /**
   * Lists the resources, the resource templates and the prompts.
   *
   * @throws if it has no connection.
   */
  async listOffers(): Promise<ListedOffers> {
    const wire = await this.wire();
    const { capabilities } = wire.info;
    return await listOffers(
      (method, params) => wire.request(method, params, this.#closing.signal),
      capabilities,
    );
  }

  /** Has those who use the connection list the tools again. */
  expireTools(): void {
    this.#tell((listener) => listener.onListChanged?.("tools"));
  }

  /** Begins to open the wire, unless that goes on already. A pause before it does not keep the process running. */
  #begin(): Promise<Wire> {
    if (this.#connecting === undefined) {
      this.#connecting = this.#connect().finally(() => {
        this.#connecting = undefined;
      });
      this.#connecting.catch(() => {});
    }
    return this.#connecting;
  }

  /** Opens the wire once, after a pause unless it is the first time. */
  async #connect(): Promise<Wire> {
    if (this.#hasBegun) await this.#pause();
    this.#hasBegun = true;
    try {
      const wire = await this.#connectOnce();
      this.#wire = wire;
      this.#isDown = false;
      this.#notify("connected", `it speaks ${wire.info.protocolVersion}`);
      void this.#subscribe(wire);
      queueMicrotask(() => this.#tell((listener) => listener.onConnected?.()));
      return wire;
    } catch (error) {
      const unsent = unsentErrorIn(error);
      const why = unsent?.message ?? (error instanceof Error ? error.message : String(error));
      if (!this.#closing.signal.aborted) this.#notify("ended", `it cannot be connected to: ${why}`);
      if (unsent instanceof AuthorizationError) {
        // It is not the server that failed: each call may try at once, and that counts as no restart.
        this.#hasBegun = false;
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.#reopen(), LOGIN_RETRY_MS).unref();
      } else setImmediate(() => this.#reopen());
      throw new NotConnectedError(`the server cannot be connected to: ${why}`);
    }
  }

  async #connectOnce(): Promise<Wire> {
    const sdk = await loadSdk();
    let told = new Map<string, string>();
    const notify: Notify = (kind, message) => {
      told.set(kind, message);
      this.#notify(kind, message);
    };
    const attempt = async (): Promise<Wire> => {
      told = new Map();
      const filter = new WireFilter(notify);
      const transport = await this.#open(sdk, filter, notify);
      const abort = (): void => void transport.close().catch(() => {});
      this.#closing.signal.addEventListener("abort", abort, { once: true });
      const events = {
        onListChanged: (kind: ListKind) => this.#tell((listener) => listener.onListChanged?.(kind)),
        onLog: (message: string) => this.#log(message),
        onClose: () => {
          this.#closing.signal.removeEventListener("abort", abort);
          this.#ended(transport);
        },
      };
      this.#current = transport;
      const options = { calls: filter.calls, asks: this.#asks, isLegacy: this.#isLegacy };
      return await Wire.connect(sdk, transport, events, { ...options, timeoutMs: this.#connectTimeoutMs });
    };
    try {
      return await attempt();
    } catch (error) {
      const isProbe = this.#current !== undefined && "pid" in this.#current && /closed/.test(String(error));
      if (this.#isLegacy || !isProbe || this.#closing.signal.aborted) throw withEnd(error, told);
      // Some older servers end when they are asked what they do not know.
      this.#isLegacy = true;
      return await attempt().catch((again) => {
        throw withEnd(again, told);
      });
    }
  }

  #log(message: string): void {
    if (this.#logs.take()) this.#notify("log", message);
    else if (this.#logs.isFirstExcess) this.#notify("log", "(more messages, which are left out)");
  }

  /** Opens a wire that ended again, without waiting for the next call: its lists may have changed. */
  #ended(transport: Transport): void {
    if (this.#closing.signal.aborted || transport !== this.#current || this.#wire === undefined) return;
    this.#wire = undefined;
    this.#reopen();
  }

  #reopen(): void {
    if (!this.#closing.signal.aborted && this.#wire?.isClosed !== false) void this.#begin();
  }

  /** @throws {NotConnectedError} if there were too many restarts. */
  async #pause(): Promise<void> {
    const pauseMs = this.#restarts.next();
    if (pauseMs === undefined) {
      if (!this.#isDown)
        this.#notify("server_down", "it ended too often, and is not started again for ten minutes");
      this.#isDown = true;
      throw new NotConnectedError("the server is down: it ended too often");
    }
    const { promise: pause, resolve } = Promise.withResolvers<void>();
    this.#pausing = setTimeout(resolve, pauseMs).unref();
    const ended = await race(pause, { signals: [this.#closing.signal] });
    clearTimeout(this.#pausing);
    this.#pausing = undefined;
    if (ended === "aborted") throw new NotConnectedError("the connection is closed");
  }

  /** A subscription that cannot be opened is no reason to do without the server. */
  async #subscribe(wire: Wire): Promise<void> {
    try {
      await keepSubscribed(wire, this.#closing.signal, () => {
        for (const kind of LIST_KINDS) this.#tell((listener) => listener.onListChanged?.(kind));
      });
    } catch {
      if (!this.#closing.signal.aborted) this.#notify("problem", "it does not tell when its lists change");
    }
  }

  #tell(tell: (listener: McpConnectionListener) => void): void {
    for (const listener of this.#listeners) tell(listener);
  }

  /** Ends the server, if it is one that was started here. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#retry);
    const connecting = this.#connecting?.catch(() => undefined);
    const wire = this.#wire ?? (await connecting);
    this.#wire = undefined;
    await wire?.close().catch(() => {});
  }
}

/** Adds how a program ended that could not be spoken to, and what it wrote last to its standard error. */
function withEnd(error: unknown, told: ReadonlyMap<string, string>): unknown {
  const end = told.get("ended");
  if (end === undefined) return error;
  const lastLine = told.get("stderr");
  // No call was sent to it.
  return new UnsentError(lastLine === undefined ? end : `${end}: ${lastLine}`, { cause: error });
}
