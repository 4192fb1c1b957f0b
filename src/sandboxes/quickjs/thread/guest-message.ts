import { locateRefusal } from "../../../json/refusal.ts";
import { nestedCallProblem, type ServiceError } from "../../guest-services/service-request.ts";
import { type FetchAllowance, MAX_REQUESTS } from "./external-access.ts";
import type { GuestReply, GuestRequest, NestedAllowance } from "./thread-task.ts";

/** What a message can be, by its first character: the driver says what each is. */
export const MESSAGE_KINDS = ["b", "c", "f", "l", "n", "r", "s", "w"] as const;

/** See {@link MESSAGE_KINDS}. */
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/**
 * Maximum number of characters that cross the border as one text, except for the arguments and results of
 * calls. Node.js cannot be interrupted while it parses, writes or converts a text, and takes up to 100 ms a
 * MiB if each character is escaped. The driver sends more as bytes, or in pieces.
 */
export const MAX_PIECE_LENGTH = 65_536;

/** JSON writes a UTF-8 byte in up to six characters (`\u0001`). */
export const MAX_ESCAPED = 6;

/** The names, paths, methods and URLs of a message have up to this many characters as JSON. */
const MAX_NAMES_LENGTH = 64 * 1_024;

/**
 * Maximum number of values of a message: 256 header fields, with a list for each, and the other parts of a
 * request.
 */
const MAX_VALUES: number = 3 * 256 + 16;

/** Messages up to this length are too small for their structure to matter. */
const MAX_UNSCANNED_LENGTH = 4_096;

/**
 * Whether the text of a guest's message is small enough to be parsed. The driver writes a few strings, but the guest
 * determines how long they are.
 *
 * @param contentBytes The most bytes that the message's content can have: a text to write, the body of a request.
 */
export function isWithinBounds(text: string, contentBytes: number): boolean {
  if (text.length <= MAX_UNSCANNED_LENGTH) return true;
  const length = MAX_NAMES_LENGTH + MAX_ESCAPED * Math.max(contentBytes, 0);
  const bounds = { length, values: MAX_VALUES, members: 0 };
  return locateRefusal(text, bounds, "structure") === undefined;
}

/** Parses a guest's message. Returns an empty list for anything but a list. */
export function parseMessage(text: string): readonly unknown[] {
  try {
    const message: unknown = JSON.parse(text);
    return Array.isArray(message) ? message : [];
  } catch {
    return [];
  }
}

/** The maximum size of a nested call's arguments, in bytes. */
const MAX_INPUT_BYTES = 1_024 * 1_024;

const NO_TOOLS =
  "tools.call: this call may not call other tools (capabilities.tools is not granted, or calls are already nested three deep)";

const NO_NETWORK = "fetch: this call may not use the network (capabilities.net is not granted)";

/**
 * Collects the requests of one step that are valid and within the call's grant, and refuses the other ones.
 */
export class RequestValidator {
  readonly requests: GuestRequest[] = [];
  /** The limit that a refused call exceeded; `undefined` if no call did. */
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

  /** Removes and returns the replies to refused requests as JSON text; `undefined` if there are none. */
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
