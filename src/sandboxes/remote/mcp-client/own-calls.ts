import type { Transport } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { McpCallOptions } from "../../../tool/implementations/remote-implementation.ts";
import type { Sdk } from "./sdk.ts";
import type { MessageId, WireMessage } from "./wire-message.ts";

/** The ids of calls that are sent here. Those of the SDK count from 0; servers may read ids as 32-bit integers. */
const FIRST_ID = 1_000_000_000;
const LAST_ID = 2_147_483_647;

/** A name that a header has as it is (MCP 2026-07-28, "Standard Headers"). */
const PLAIN_NAME = /^(?!=\?)[!-~]{1,256}$/;

/** The member of a schema that has an argument sent as a header. */
const HEADER_MEMBER = '"x-mcp-header"';

/** A request to call a tool. */
export interface OwnCall {
  readonly name: string;
  /** The params of the request, with `_meta` of the call. */
  readonly params: JsonObject;
  readonly isModern: boolean;
  readonly inputSchema: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress?: McpCallOptions["onProgress"];
}

/** What a call is sent with. */
interface OwnSender {
  readonly sdk: Pick<Sdk, "ProtocolError">;
  readonly transport: Transport;
  /** The members of `_meta` that every request of 2026-07-28 has; empty in others. */
  readonly envelope: JsonObject;
}

interface PendingCall {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress: McpCallOptions["onProgress"];
}

/**
 * Sends calls of tools past the SDK's client, which would check each message several times and copy it. What is rare is left to the SDK:
 * arguments that are sent as headers, and names that headers have in another form.
 */
export class OwnCalls {
  readonly #open = new Map<MessageId, PendingCall>();
  readonly #withHeaders = new WeakMap<JsonObject, boolean>();
  #lastId = FIRST_ID;
  #isClosed = false;

  /** Whether an id is the one of an open call. */
  has(id: MessageId | undefined): boolean {
    return id !== undefined && this.#open.has(id);
  }

  /** Whether a call can be sent here. */
  takes({ name, inputSchema, isModern }: OwnCall): boolean {
    return (
      !this.#isClosed && this.#lastId < LAST_ID && (!isModern || this.#needsNoHeaders(name, inputSchema))
    );
  }

  #needsNoHeaders(name: string, schema: JsonObject): boolean {
    let has = this.#withHeaders.get(schema);
    if (has === undefined) {
      has = JSON.stringify(schema).includes(HEADER_MEMBER);
      this.#withHeaders.set(schema, has);
    }
    return !has && PLAIN_NAME.test(name);
  }

  /**
   * Sends a call, and returns the result as the server sent it.
   *
   * @throws what the SDK's client throws, as a rejection: an error of the server with its `code`, and what the transport throws.
   */
  async send(call: OwnCall, { sdk, transport, envelope }: OwnSender): Promise<JsonObject> {
    const { signal, onProgress, params, isModern } = call;
    signal.throwIfAborted();
    const id = ++this.#lastId;
    const token = onProgress && { progressToken: id };
    const own = isJsonObject(params["_meta"]) ? params["_meta"] : undefined;
    const hasMeta = isModern || own !== undefined || token !== undefined;
    const _meta = { ...envelope, ...own, ...token };
    const message = {
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: hasMeta ? { ...params, _meta } : params,
    } as const;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    const fail = (error: unknown): void => {
      reject(
        isJsonObject(error as JsonObject) && !(error instanceof Error) ? protocolError(sdk, error) : error,
      );
    };
    this.#open.set(id, { resolve, reject: fail, onProgress });
    const stream = isModern && transport.hasPerRequestStream === true ? new AbortController() : undefined;
    const cancel = (): void => {
      if (!this.#open.delete(id)) return;
      reject(signal.reason);
      if (stream !== undefined) stream.abort();
      else {
        const cancelled = {
          requestId: id,
          reason: String(signal.reason),
          ...(isModern && { _meta: envelope }),
        };
        const method = "notifications/cancelled";
        transport.send({ jsonrpc: "2.0", method, params: cancelled }).catch(() => {});
      }
    };
    signal.addEventListener("abort", cancel, { once: true });
    try {
      transport.send(message, stream && { requestSignal: stream.signal }).catch(reject);
      return complete(await promise, isModern);
    } finally {
      this.#open.delete(id);
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Takes a message that was checked. Returns whether it belonged to a call that was sent here. */
  deliver({ id, method, params, result, error }: WireMessage): boolean {
    if (method !== undefined) return method === PROGRESS && this.#report(params);
    const waiting = id === undefined ? undefined : this.#open.get(id);
    if (id === undefined || waiting === undefined) return false;
    this.#open.delete(id);
    if (result !== undefined) waiting.resolve(result);
    else waiting.reject(error);
    return true;
  }

  #report(params: WireMessage["params"]): boolean {
    if (!isJsonObject(params)) return false;
    const { progressToken, progress, total, message } = params;
    // Some servers write numbers as texts.
    const waiting = this.#open.get(Number(progressToken));
    if (waiting === undefined) return false;
    const isValid =
      typeof progress === "number" &&
      (total === undefined || typeof total === "number") &&
      (message === undefined || typeof message === "string");
    if (isValid)
      waiting.onProgress?.({
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      });
    return true;
  }

  /** The connection ended. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#open.values()) reject(new Error("Connection closed"));
    this.#open.clear();
  }
}

const PROGRESS = "notifications/progress";

function protocolError(sdk: OwnSender["sdk"], error: unknown): Error {
  const { code, message, data } = error as NonNullable<WireMessage["error"]>;
  return sdk.ProtocolError.fromError(code, message, data);
}

/** Reads the type of a result. The revision of 2025 has none, and servers of that of 2026 leave it out. */
function complete(result: JsonObject, isModern: boolean): JsonObject {
  const { resultType, ...others } = result;
  if (resultType === undefined || resultType === "complete") return result;
  if (!isModern) return Object.freeze(others);
  if (typeof resultType !== "string") throw new InvalidResultError("INVALID_RESULT");
  if (resultType !== "input_required") throw new InvalidResultError("UNSUPPORTED_RESULT_TYPE");
  const { inputRequests, requestState, ...rest } = result;
  const asked = isJsonObject(inputRequests) ? inputRequests : {};
  const hasState = typeof requestState === "string";
  if (Object.keys(asked).length === 0 && !hasState) throw new InvalidResultError("INVALID_RESULT");
  // Servers send `null` for what is absent.
  return { ...rest, inputRequests: asked, ...(hasState && { requestState }) };
}

/** A result that is no complete one, and cannot be continued. The codes are those of the SDK. */
class InvalidResultError extends Error {
  override readonly name = "InvalidResultError";
  readonly code: string;

  constructor(code: string) {
    super("the type of the result is not one that this client knows");
    this.code = code;
  }
}
