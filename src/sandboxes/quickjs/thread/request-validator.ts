import { nestedCallProblem } from "../../guest-services/nested-call-bounds.ts";
import type { ServiceError } from "../../guest-services/service-request.ts";
import { type FetchAllowance, MAX_REQUESTS } from "./external-access.ts";
import { isWithinBounds, MAX_PIECE_LENGTH, parseMessage } from "./guest-message.ts";
import type { GuestReply, GuestRequest, NestedAllowance } from "./thread-task.ts";

/** The maximum size of a nested call's arguments, in bytes. */
const MAX_INPUT_BYTES = 1_024 * 1_024;

const NO_TOOLS =
  "tools.call: this call may not call other tools (capabilities.tools is not granted, or calls are already nested three deep)";
const NO_NETWORK = "fetch: this call may not use the network (capabilities.net is not granted)";

/** Collects the requests of one step that are valid and within the call's grant, and refuses all others. */
export class RequestValidator {
  readonly requests: GuestRequest[] = [];
  /** Says which limit a refused call was beyond; `undefined` if none was. */
  beyondLimit: string | undefined;
  readonly #nested: NestedAllowance;
  readonly #fetch: FetchAllowance | undefined;
  readonly #logDenial: (message: string) => void;
  #calls = 0;
  #fetches = 0;
  #fetchBytes = 0;
  #refusals: GuestReply[] | undefined;

  /**
   * @param fetch `undefined` if the grant gives no network.
   * @param logDenial Receives the message of each refusal for want of a capability.
   */
  constructor(
    nested: NestedAllowance,
    fetch: FetchAllowance | undefined,
    logDenial: (message: string) => void,
  ) {
    this.#nested = nested;
    this.#fetch = fetch;
    this.#logDenial = logDenial;
  }

  /**
   * Receives a call of another tool (`c`) or an HTTP request (`f`).
   *
   * @param text The request as JSON. Untrusted.
   * @param bytes The body of an HTTP request, if it has bytes and no text.
   */
  receive(kind: "c" | "f", text: string, bytes: Uint8Array): void {
    const contentBytes = kind === "c" ? MAX_INPUT_BYTES : Math.min(this.#leftFetchBytes, MAX_PIECE_LENGTH);
    if (isWithinBounds(text, contentBytes)) {
      const message = parseMessage(text);
      if (kind === "c") this.#receiveCall(message);
      else this.#receiveFetch(message, bytes);
      return;
    }
    const id = /^\[(\d{1,15}),/.exec(text)?.[1];
    if (id === undefined) return;
    const problem =
      kind === "c"
        ? this.#callProblem(Number.POSITIVE_INFINITY)
        : this.#fetchProblem(Number.POSITIVE_INFINITY);
    if (problem !== undefined) this.#refuse(Number(id), problem);
  }

  #receiveCall([id, name, input]: readonly unknown[]): void {
    if (typeof id !== "number" || typeof name !== "string" || typeof input !== "string") return;
    const problem = this.#callProblem(Buffer.byteLength(input)) ?? nestedCallProblem(name, input);
    if (problem !== undefined) {
      this.#refuse(id, problem);
      return;
    }
    this.#calls++;
    this.requests.push({ kind: "call-tool", id, name, input });
  }

  #callProblem(inputBytes: number): ServiceError | undefined {
    const { left, granted } = this.#nested;
    if (granted === 0) return { code: "permission_denied", message: NO_TOOLS };
    if (this.#calls >= left) {
      this.beyondLimit = `a call was refused that is beyond its limit of ${granted} calls`;
      return {
        code: "limit_exceeded",
        message: `this code may make at most ${granted} calls of tools (nestedCalls), and this is one more: make fewer, or ask for more with each`,
      };
    }
    if (inputBytes > MAX_INPUT_BYTES) {
      return {
        code: "validation_error",
        message: "the arguments of a nested call may not exceed 1 MiB",
      };
    }
    return undefined;
  }

  #receiveFetch([id, method, url, headers, body, follow]: readonly unknown[], content: Uint8Array): void {
    if (typeof id !== "number" || typeof method !== "string" || typeof url !== "string") return;
    if (!areHeaders(headers) || (body !== null && typeof body !== "string")) return;
    const bytes = sizeOf(url, headers, body) + content.length;
    const problem = this.#fetchProblem(bytes);
    if (problem !== undefined) {
      this.#refuse(id, problem);
      return;
    }
    this.#fetches++;
    this.#fetchBytes += bytes;
    const buffer = content.length > 0 ? Buffer.from(content) : Buffer.from(body ?? "");
    this.requests.push({
      kind: "http",
      id,
      method: method.toUpperCase(),
      url,
      headers,
      body: body === null ? undefined : buffer.toString("base64"),
      encoding: "base64",
      followRedirects: follow === true,
    });
  }

  #fetchProblem(bytes: number): ServiceError | undefined {
    if (this.#fetch === undefined) {
      return { code: "origin_denied", message: NO_NETWORK };
    }
    if (this.#fetches >= this.#fetch.requests) {
      return {
        code: "too_many_requests",
        message: `a call may send at most ${MAX_REQUESTS} requests: ask for more data with each`,
      };
    }
    // Such a request could not be sent, so it is refused before it is transferred to the process.
    if (bytes > this.#leftFetchBytes) {
      return {
        code: "request_too_large",
        message:
          "the request exceeds the call's remaining network budget (netBytes), or has more than 256 header fields",
      };
    }
    return undefined;
  }

  get #leftFetchBytes(): number {
    return (this.#fetch?.bytes ?? 0) - this.#fetchBytes;
  }

  #refuse(id: number, error: ServiceError): void {
    if (error.message === NO_TOOLS || error.message === NO_NETWORK) this.#logDenial(error.message);
    this.#refusals ??= [];
    this.#refusals.push({ id, error });
  }

  /** Returns the replies to refused requests as JSON text, and forgets them; `undefined` if there are none. */
  takeRefusals(): string | undefined {
    if (this.#refusals === undefined) return undefined;
    const refusals = this.#refusals;
    this.#refusals = undefined;
    return JSON.stringify(refusals);
  }
}

function areHeaders(headers: unknown): headers is [string, string][] {
  return (
    Array.isArray(headers) &&
    headers.every((pair) => Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "string")
  );
}

/** Bytes of the parts of a request that the guest chooses. */
function sizeOf(url: string, headers: readonly (readonly [string, string])[], body: string | null): number {
  let bytes = url.length + Buffer.byteLength(body ?? "");
  for (const [name, value] of headers) bytes += name.length + value.length;
  return bytes;
}
