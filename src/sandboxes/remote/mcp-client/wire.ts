import { setTimeout as sleep } from "node:timers/promises";
import type { Client, McpSubscription, Transport } from "@modelcontextprotocol/client";
import { MAX_DELAY_MS } from "../../../base/timers.ts";
import type { TraceHeaders } from "../../../base/trace-headers.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { McpCallOptions } from "../../../tool/implementations/remote-implementation.ts";
import type { OwnCall, OwnCalls } from "./own-calls.ts";
import { answerRequests, type ServerAsks } from "./questions/asked-requests.ts";
import type { McpCallLink, OpenCall } from "./questions/open-calls.ts";
import { inRounds, withPages } from "./questions/rounds.ts";
import type { Sdk } from "./sdk.ts";
import { LaterRequestError } from "./unsent.ts";
import { WHOLE, type WireFilter } from "./wire-filter.ts";

const FIRST_PAUSE_MS = 500;

/** The longest pause. After a subscription that lasts longer, the pauses start again. */
const LONGEST_PAUSE_MS = 60_000;

/** Milliseconds for the answer to `server/discover` over stdio. Silence means that the server speaks 2025-11-25. */
const PROBE_MS = 3_000;

/** Milliseconds for each other request until a server is connected, and for requests that are no calls. */
export const REQUEST_MS = 20_000;

/** The name and version that servers see. */
const CLIENT_INFO = { name: "sandgate", version: "1" };

/** A server's description of itself. Deeply frozen. */
export interface McpServerInfo {
  /** The revision of the protocol that is spoken, such as `2026-07-28`. */
  readonly protocolVersion: string;
  /** The server's own name, which is not the one in the configuration; absent if it has none. */
  readonly name?: string;
  readonly title?: string;
  /** Its instructions for the model. */
  readonly instructions?: string;
  readonly capabilities: JsonObject;
}

/** The lists whose changes a server reports. */
export const LIST_KINDS = ["tools", "prompts", "resources"] as const;
export type ListKind = (typeof LIST_KINDS)[number];

/** Events of a {@link Wire}. */
export interface WireEvents {
  onListChanged(kind: ListKind): void;
  /** A message that the server logged. */
  onLog(message: string): void;
  onClose(): void;
}

/** How a {@link Wire} is connected. */
export interface ConnectOptions {
  /** Whether the server is known not to support `server/discover`. */
  readonly isLegacy: boolean;
  /** Milliseconds for an answer over HTTP, and for `initialize`. Default: {@link REQUEST_MS}. */
  readonly timeoutMs?: number | undefined;
  /** Tracks the calls in which the server can ask, and whether the session was lost. */
  readonly filter: Pick<WireFilter, "calls" | "own" | "isLost" | "hasAnswered">;
  /** The requests that it may make then. */
  readonly asks: ServerAsks;
}

/** A live connection to a server, over any transport. It ends once, and is not opened again. */
export class Wire {
  readonly #client: Client;
  readonly #sdk: Sdk;
  readonly #transport: Transport;
  readonly #filter: ConnectOptions["filter"];
  readonly isStdio: boolean;
  #isClosed = false;

  private constructor(client: Client, sdk: Sdk, transport: Transport, filter: ConnectOptions["filter"]) {
    this.#client = client;
    this.#sdk = sdk;
    this.#transport = transport;
    this.#filter = filter;
    this.isStdio = "pid" in transport;
  }

  /**
   * Connects to a server. `server/discover` comes first; for a server that does not support it, 2025-11-25 is
   * used.
   *
   * @throws if it cannot be connected to.
   */
  static async connect(
    sdk: Sdk,
    transport: Transport,
    events: WireEvents,
    { filter, asks, isLegacy, timeoutMs = REQUEST_MS }: ConnectOptions,
  ): Promise<Wire> {
    const isStdio = "pid" in transport;
    const client = new sdk.Client(CLIENT_INFO, {
      versionNegotiation: {
        mode: isLegacy ? "legacy" : "auto",
        probe: { timeoutMs: isStdio ? PROBE_MS : timeoutMs },
      },
      inputRequired: { autoFulfill: false },
      // Servers of 2025-11-25 learn the capabilities only once, before it is known whether the client of a
      // call can be asked.
      capabilities: asks,
    });
    const wire = new Wire(client, sdk, transport, filter);
    answerRequests(client, asks, (request, context) => filter.calls.ask(request, context));
    // The filter reports the problem. Nothing else in these errors is known to be safe to show.
    client.onerror = () => {};
    client.onclose = () => {
      wire.#isClosed = true;
      filter.own.close();
      events.onClose();
    };
    client.setNotificationHandler("notifications/tools/list_changed", () => events.onListChanged("tools"));
    client.setNotificationHandler("notifications/prompts/list_changed", () =>
      events.onListChanged("prompts"),
    );
    client.setNotificationHandler("notifications/resources/list_changed", () =>
      events.onListChanged("resources"),
    );
    client.setNotificationHandler("notifications/message", ({ params }) => {
      events.onLog(typeof params.data === "string" ? params.data : JSON.stringify(params.data));
    });
    try {
      await client.connect(transport, { timeout: timeoutMs });
    } catch (error) {
      await transport.close().catch(() => {});
      throw error;
    }
    return wire;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the server may no longer know the session: its next request has another wire. */
  get isLost(): boolean {
    return this.#filter.isLost;
  }

  /** Whether a call was answered. */
  get hasAnswered(): boolean {
    return this.#filter.hasAnswered;
  }

  /** Whether the revision is 2026-07-28 or later: requests stand alone. */
  get isModern(): boolean {
    return this.#client.getProtocolEra() === "modern";
  }

  get info(): McpServerInfo {
    const { name, title } = this.#client.getServerVersion() ?? {};
    const instructions = this.#client.getInstructions();
    return Object.freeze({
      protocolVersion: this.#client.getNegotiatedProtocolVersion() ?? "",
      capabilities: (this.#client.getServerCapabilities() ?? {}) as JsonObject,
      ...(name !== undefined && { name }),
      ...(title !== undefined && { title }),
      ...(instructions !== undefined && instructions !== "" && { instructions }),
    });
  }

  /**
   * Calls a tool, until the signal is aborted. Returns the whole result, without `resultType`.
   *
   * @param inputSchema Names the arguments that are sent as headers too (`x-mcp-header`).
   */
  async callTool(
    name: string,
    args: JsonObject,
    inputSchema: JsonObject,
    { signal, trace, onProgress, onLog }: Pick<McpCallOptions, "signal" | "trace" | "onProgress" | "onLog">,
    link?: McpCallLink,
  ): Promise<JsonObject> {
    const call = { signal, link, ...(onLog && { onLog }) };
    let requests = 0;
    const send = async (retry: JsonObject): Promise<JsonObject> => {
      requests++;
      const params = { ...retry, ...withTrace(this.#declared(call), trace), name, arguments: args };
      const own: OwnCall = { name, params, isModern: this.isModern, inputSchema, signal, onProgress };
      if (this.#filter.own.takes(own)) return await this.#filter.own.send(own, this.#sender);
      const result: unknown = await this.#client.callTool(params, {
        signal,
        timeout: MAX_DELAY_MS,
        allowInputRequired: true,
        toolDefinition: { name, inputSchema: inputSchema as { type: "object" } },
        ...(onProgress && { onprogress: onProgress }),
      });
      return wholeOf(result);
    };
    try {
      return withoutResultType(
        await this.#filter.calls.during(call, () => withPages(() => inRounds(send, call), call)),
      );
    } catch (error) {
      throw requests > 1 ? new LaterRequestError(error) : error;
    }
  }

  /**
   * Reads something that belongs to a call: `resources/read` or `prompts/get`. Returns the result as the server sent it, without
   * `resultType`.
   */
  async read(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    link?: McpCallLink,
  ): Promise<JsonObject> {
    const call = { signal, link };
    const options = { signal, timeout: MAX_DELAY_MS, allowInputRequired: true };
    const send = async (retry: JsonObject): Promise<JsonObject> => {
      const request = { method, params: { ...retry, ...this.#declared(call), ...params } };
      return wholeOf(await this.#client.request(request, ANYTHING, options));
    };
    return withoutResultType(await this.#filter.calls.during(call, () => inRounds(send, call)));
  }

  /** What calls that do not go through the SDK are sent with. */
  get #sender(): Parameters<OwnCalls["send"]>[1] {
    const sdk = this.#sdk;
    const envelope: JsonObject = this.isModern
      ? {
          [sdk.PROTOCOL_VERSION_META_KEY]: this.#client.getNegotiatedProtocolVersion() ?? "",
          [sdk.CLIENT_INFO_META_KEY]: CLIENT_INFO,
          [sdk.CLIENT_CAPABILITIES_META_KEY]: {},
        }
      : {};
    return { sdk, transport: this.#transport, envelope };
  }

  /** A server of 2026-07-28 learns with each request what its client can be asked. */
  #declared({ link, onLog }: OpenCall): JsonObject {
    if (!this.isModern) return {};
    const logs = link !== undefined && onLog !== undefined;
    return {
      _meta: {
        "io.modelcontextprotocol/clientCapabilities": link?.capabilities ?? {},
        ...(logs && { "io.modelcontextprotocol/logLevel": "info" }),
      },
    };
  }

  /** Sends any other request, and returns the result as the server sent it. */
  async request(method: string, params: JsonObject = {}, signal?: AbortSignal): Promise<JsonObject> {
    const request = { method, params } as { method: string; params: Record<string, unknown> };
    const options = { timeout: REQUEST_MS, ...(signal && { signal }) };
    return wholeOf(await this.#client.request(request, ANYTHING, options));
  }

  /** Asks the server for any answer. The revision of 2026 has no `ping`. Throws what {@link request} does. */
  async ping(signal?: AbortSignal): Promise<void> {
    await this.request(this.isModern ? "server/discover" : "ping", {}, signal);
  }

  /** Subscribes to changes of lists, where the revision needs that. Resolves to `undefined` where it does not. */
  async listen(): Promise<McpSubscription | undefined> {
    if (!this.isModern) return undefined;
    const has = (kind: ListKind): boolean => {
      const capability = this.info.capabilities[kind];
      return isJsonObject(capability) && capability["listChanged"] === true;
    };
    const filter = {
      ...(has("tools") && { toolsListChanged: true }),
      ...(has("prompts") && { promptsListChanged: true }),
      ...(has("resources") && { resourcesListChanged: true }),
    };
    if (Object.keys(filter).length === 0) return undefined;
    return await this.#client.listen(filter, { timeout: REQUEST_MS });
  }

  /** Closes it when the calls on it have ended. */
  async retire(): Promise<void> {
    await this.#filter.calls.idle();
    await this.close();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** A schema (Standard Schema 1) that accepts everything: results are checked where they are used. */
const ANYTHING = {
  "~standard": {
    version: 1,
    vendor: "sandgate",
    validate: (value: unknown): { readonly value: unknown } => ({ value }),
  },
} as const;

function wholeOf(result: unknown): JsonObject {
  if (!isJsonObject(result)) return {};
  const whole = result[WHOLE];
  return isJsonObject(whole) ? whole : result;
}

/** Adds the members of `_meta` that continue a trace. */
function withTrace(params: JsonObject, trace: TraceHeaders | undefined): JsonObject {
  if (trace === undefined) return params;
  const { _meta } = params;
  return { ...params, _meta: { ...(isJsonObject(_meta) && _meta), ...trace } };
}

function withoutResultType(result: JsonObject): JsonObject {
  if (result["resultType"] === undefined) return result;
  const { resultType: _, ...others } = result;
  return Object.freeze(others);
}

/**
 * Keeps a subscription to changes of lists open for as long as the wire is. One that the server closes, or
 * that breaks, is reopened after a pause that doubles.
 *
 * @param onReopened Called after each pause: changes may have been missed.
 * @throws if the server refuses the first one.
 */
export async function keepSubscribed(wire: Wire, signal: AbortSignal, onReopened: () => void): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  for (let subscription = await wire.listen(); ; ) {
    const openedAt = performance.now();
    const end = await subscription?.closed;
    if (end === undefined || end === "local") return;
    if (performance.now() - openedAt > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
    do {
      await sleep(pauseMs, undefined, { signal, ref: false });
      if (wire.isClosed) return;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      subscription = await wire.listen().catch(() => undefined);
    } while (subscription === undefined);
    onReopened();
  }
}
