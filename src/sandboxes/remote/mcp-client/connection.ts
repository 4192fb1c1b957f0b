import type { Transport } from "@modelcontextprotocol/client";
import { race } from "../../../base/timers.ts";
import { equalJson, isJsonObject, type JsonObject } from "../../../json/value.ts";
import { HttpTransport } from "./http-transport.ts";
import { type ListedOffers, type ListedTools, listOffers, listTools } from "./lists.ts";
import { type Notify, noticesOf, type OnMcpNotice } from "./notice.ts";
import type { ServerAsks } from "./questions/asked-requests.ts";
import { Rate, Restarts } from "./rate.ts";
import { loadSdk, type Sdk } from "./sdk.ts";
import { type McpLoadOptions, ServerLoad } from "./server-load.ts";
import { AuthorizationError, UnsentError, unsentErrorIn, withEnd } from "./unsent.ts";
import { keepSubscribed, LIST_KINDS, type ListKind, type McpServerInfo, Wire } from "./wire.ts";
import { WireFilter } from "./wire-filter.ts";

/** Milliseconds until a server that requires a login is retried: someone may have logged in meanwhile. */
const LOGIN_RETRY_MS = 60_000;

/** Milliseconds until a server over HTTP that was down is retried. */
const DOWN_RETRY_MS = 60_000;

/** Maximum number of a server's log messages per second that are passed on. */
const MAX_LOGS = 20;

/**
 * Opens a transport to a server. The filter checks what it sends and receives.
 *
 * @param isSse Whether it is a server over HTTP that refuses what is sent to its address.
 */
export type OpenTransport = (
  sdk: Sdk,
  filter: WireFilter,
  notify: Notify,
  isSse: boolean,
) => Promise<Transport>;

/** Options of {@link McpConnection}. */
export interface McpConnectionOptions {
  /** The name of the server in the configuration. */
  readonly name: string;
  readonly open: OpenTransport;
  /** Milliseconds for the first answer, in which a person may have to log in. Default: those of each other request. */
  readonly connectTimeoutMs?: number | undefined;
  readonly onNotice?: OnMcpNotice | undefined;
  /** How much it gets to do. */
  readonly load?: McpLoadOptions | undefined;
  /** The requests that the server may make to the client of a call. Default: none. */
  readonly asks?: ServerAsks | undefined;
}

/** Receives the events of a connection. */
export interface McpConnectionListener {
  /** The server was connected or reconnected: its lists may have changed. */
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
  /** What it has to do. */
  readonly load: ServerLoad;
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
  /** Whether the server only speaks HTTP+SSE. */
  #isSse = false;
  #isDown = false;
  /** The tools by their own names, as they were listed last on a wire. */
  readonly #definitions = new WeakMap<Wire, Promise<ReadonlyMap<string, JsonObject>>>();
  #current: Transport | undefined;
  #filter: WireFilter | undefined;
  #hasBegun = false;
  /** Retries a server that requires a login, or is down. */
  #retry: NodeJS.Timeout | undefined;
  /** The pause before the next attempt. */
  #pausing: NodeJS.Timeout | undefined;

  constructor({ name, open, connectTimeoutMs, onNotice, load = {}, asks = {} }: McpConnectionOptions) {
    this.#asks = asks;
    this.name = name;
    this.#open = open;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#notify = noticesOf(name, onNotice);
    this.load = new ServerLoad(load, this.#notify);
  }

  /** Adds a listener, and returns a function that removes it. */
  listen(listener: McpConnectionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The server's description of itself; `undefined` while it is not connected. */
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
    return await this.#listOn(await this.wire());
  }

  async #listOn(wire: Wire): Promise<ListedTools> {
    const listing = listTools((method, params) => wire.request(method, params, this.#closing.signal), {
      hasTools: wire.info.capabilities["tools"] !== undefined,
      // Headers are sent over HTTP only, where tools with invalid ones must be left out.
      checksHeaders: wire.isModern && !wire.isStdio,
    });
    const definitions = listing.then(definitionsIn);
    const replace = (): unknown => this.#definitions.set(wire, definitions);
    // Calls do not wait for a list that is read again.
    definitions.then(replace, () => {});
    if (!this.#definitions.has(wire)) replace();
    return await listing;
  }

  /**
   * Whether the server listed this definition of a tool on a wire. A restarted or redeployed server may have
   * another one, which was not approved.
   *
   * @throws if the tools cannot be listed.
   */
  async lists(wire: Wire, { name, listed }: CalledDefinition, signal: AbortSignal): Promise<boolean> {
    const known = this.#definitions.get(wire);
    let definitions = await known?.catch(() => undefined);
    if (definitions === undefined) {
      this.#definitions.delete(wire);
      if ((await race(this.#listOn(wire), { signals: [signal] })) === "aborted")
        throw new NotConnectedError("the server has not listed its tools yet");
      definitions = await this.#definitions.get(wire);
    }
    const current = definitions?.get(name);
    return current === listed || (current !== undefined && equalJson(current, listed));
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

  /**
   * Reads something that belongs to a call: see `Wire.read`. If the session was lost, it is read once more.
   *
   * @throws {NotConnectedError} if there is no connection, and what `Wire.read` throws.
   */
  async read(...[method, params, signal, link]: Parameters<Wire["read"]>): Promise<JsonObject> {
    const wire = await this.wire(signal);
    try {
      return await wire.read(method, params, signal, link);
    } catch (error) {
      if (!wire.isLost || signal.aborted) throw error;
      return await (await this.wire(signal)).read(method, params, signal, link);
    }
  }

  /** Makes the listeners list the tools again. */
  expireTools(): void {
    this.#emit((listener) => listener.onListChanged?.("tools"));
  }

  /**
   * Starts to open the wire, unless that is under way. A pause before it does not keep the process running.
   */
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
      queueMicrotask(() => this.#emit((listener) => listener.onConnected?.()));
      return wire;
    } catch (error) {
      const unsent = unsentErrorIn(error);
      const why = unsent?.message ?? (error instanceof Error ? error.message : String(error));
      if (!this.#closing.signal.aborted) this.#notify("ended", `it cannot be connected to: ${why}`);
      if (unsent instanceof AuthorizationError) {
        // The server did not fail: each call may retry at once, and that does not count as a restart.
        this.#hasBegun = false;
        this.#retryIn(LOGIN_RETRY_MS);
      } else setImmediate(() => this.#reopen());
      throw new NotConnectedError(`the server cannot be connected to: ${why}`, { cause: error });
    }
  }

  async #connectOnce(): Promise<Wire> {
    const sdk = await loadSdk();
    let notices = new Map<string, string>();
    const notify: Notify = (kind, message) => {
      notices.set(kind, message);
      this.#notify(kind, message);
    };
    const attempt = async (isSse = this.#isSse): Promise<Wire> => {
      notices = new Map();
      const filter: WireFilter = new WireFilter(notify, {
        onLost: (why) => this.#lost(filter, why),
        onSuspicion: () => void this.#wire?.ping().catch(() => {}),
      });
      const transport = await this.#open(sdk, filter, notify, isSse);
      const abort = (): void => void transport.close().catch(() => {});
      this.#closing.signal.addEventListener("abort", abort, { once: true });
      const events = {
        onListChanged: (kind: ListKind) => this.#emit((listener) => listener.onListChanged?.(kind)),
        onLog: (message: string) => this.#log(message),
        onClose: () => {
          this.#closing.signal.removeEventListener("abort", abort);
          this.#ended(transport);
        },
      };
      this.#current = transport;
      this.#filter = filter;
      const options = { filter, asks: this.#asks, isLegacy: this.#isLegacy || isSse };
      const wire = await Wire.connect(sdk, transport, events, {
        ...options,
        timeoutMs: this.#connectTimeoutMs,
      });
      filter.isConnected = true;
      return wire;
    };
    try {
      return await attempt();
    } catch (error) {
      if (this.#current instanceof HttpTransport && this.#current.isRefused()) {
        const wire = await attempt(true).catch((again: unknown) => {
          const [first, second] = [error, again].map((each) =>
            each instanceof Error ? each.message : String(each),
          );
          throw new UnsentError(`${first}; and over HTTP+SSE: ${second}`, { cause: again });
        });
        this.#isSse = true;
        return wire;
      }
      const isProbe = this.#current !== undefined && "pid" in this.#current && /closed/.test(String(error));
      if (this.#isLegacy || !isProbe || this.#closing.signal.aborted) throw withEnd(error, notices);
      // Some older servers exit when they receive an unknown request.
      this.#isLegacy = true;
      return await attempt().catch((again) => {
        throw withEnd(again, notices);
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

  /**
   * The session of the wire is lost. Calls on the wire continue, since another instance of the server may
   * still know it. A session that was used successfully is replaced at once, which does not count as a
   * restart.
   */
  #lost(filter: WireFilter, why: string): void {
    const wire = this.#wire;
    if (this.#closing.signal.aborted || filter !== this.#filter || wire === undefined) return;
    this.#wire = undefined;
    this.#notify("ended", `${why}: it is connected to again, as after it was deployed anew`);
    void wire.retire().catch(() => {});
    if (wire.hasAnswered) this.#hasBegun = false;
    this.#reopen();
  }

  #reopen(): void {
    if (!this.#closing.signal.aborted && this.#wire?.isClosed !== false) void this.#begin();
  }

  /** Tries a server once, without a pause. */
  #retryIn(ms: number): void {
    clearTimeout(this.#retry);
    const retry = (): void => {
      this.#hasBegun = false;
      this.#reopen();
    };
    this.#retry = setTimeout(retry, ms).unref();
  }

  /** @throws {NotConnectedError} if there were too many restarts. */
  async #pause(): Promise<void> {
    const pauseMs = this.#restarts.next();
    if (pauseMs === undefined) {
      // Trying a server over HTTP is cheap: it is not started here.
      const isProgram = this.#current !== undefined && "pid" in this.#current;
      if (!this.#isDown) {
        const again = isProgram ? "is not started again for ten minutes" : "is tried again every minute";
        this.#notify("server_down", `it ended too often, and ${again}`);
      }
      this.#isDown = true;
      if (!isProgram) this.#retryIn(DOWN_RETRY_MS);
      throw new NotConnectedError("the server is down: it ended too often");
    }
    const { promise: pause, resolve } = Promise.withResolvers<void>();
    this.#pausing = setTimeout(resolve, pauseMs).unref();
    const ended = await race(pause, { signals: [this.#closing.signal] });
    clearTimeout(this.#pausing);
    this.#pausing = undefined;
    if (ended === "aborted") throw new NotConnectedError("the connection is closed");
  }

  /** The server stays usable if the subscription cannot be opened. */
  async #subscribe(wire: Wire): Promise<void> {
    try {
      await keepSubscribed(wire, this.#closing.signal, () => {
        for (const kind of LIST_KINDS) this.#emit((listener) => listener.onListChanged?.(kind));
      });
    } catch {
      if (!this.#closing.signal.aborted) this.#notify("problem", "it does not tell when its lists change");
    }
  }

  #emit(notify: (listener: McpConnectionListener) => void): void {
    for (const listener of this.#listeners) notify(listener);
  }

  /** Ends the server, if it was started here. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.load.close();
    clearTimeout(this.#retry);
    const connecting = this.#connecting?.catch(() => undefined);
    const wire = this.#wire ?? (await connecting);
    this.#wire = undefined;
    await wire?.close().catch(() => {});
  }
}

/** The parts of a tool that are compared. */
interface CalledDefinition {
  /** The server's own name of it. */
  readonly name: string;
  readonly listed: JsonObject;
}

function definitionsIn({ tools }: ListedTools): ReadonlyMap<string, JsonObject> {
  return new Map(tools.filter(isJsonObject).map((tool) => [String(tool["name"]), tool]));
}
