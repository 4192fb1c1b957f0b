import { parseJson } from "../../../json/parse.ts";
import type { JsonBounds } from "../../../json/refusal.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";

/** Maximum number of bytes of one message of a server. */
export const MAX_MESSAGE_BYTES: number = 4 * 1_024 * 1_024;

/**
 * The amount that can be read in one turn of the event loop, in about 20 ms. A longer list has several pages.
 */
const MESSAGE_BOUNDS: JsonBounds = Object.freeze({
  length: MAX_MESSAGE_BYTES,
  values: 200_000,
  members: 100_000,
  decimals: "exact",
});

/** The id of a request. */
export type MessageId = string | number;

/** A message of JSON-RPC 2.0 that was checked. Deeply frozen. */
export type WireMessage = JsonObject & {
  readonly jsonrpc: "2.0";
  readonly method?: string;
  readonly id?: MessageId;
  readonly result?: JsonObject;
  readonly error?: JsonObject & { readonly code: number; readonly message: string };
};

/** A message that cannot be used. */
export interface UnusableMessage {
  /** Why, without text of the server. */
  readonly problem: string;
  /** Which request it answers, if that can be read. */
  readonly id?: MessageId;
}

/**
 * Reads one message of a server. Beyond JSON-RPC, it must be unambiguous JSON: no repeated members, no
 * numbers that are not exact as doubles.
 */
export function readMessage(text: string): WireMessage | UnusableMessage {
  // Servers on .NET begin with a byte order mark, which a reader may skip (RFC 8259, section 8.1).
  const parsed = parseJson(text.startsWith("\ufeff") ? text.slice(1) : text, MESSAGE_BOUNDS);
  if (!("value" in parsed)) {
    const { kind, position } = parsed;
    const [constant] = CONSTANT.exec(text.slice(position, position + MAX_CONSTANT)) ?? [];
    const reason = constant === undefined ? parsed.reason : `${constant}, which JSON does not have,`;
    const problem = `the message is not usable JSON: ${reason} at position ${position}`;
    return { problem, ...(kind === "syntax" ? idBefore(text) : idOf(text)) };
  }
  return checkMessage(parsed.value);
}

/** Whether a message cannot be used. */
export function isUnusable(message: WireMessage | UnusableMessage): message is UnusableMessage {
  return "problem" in message && !("jsonrpc" in message);
}

/** Checks the form of a message that was parsed. */
export function checkMessage(value: JsonValue): WireMessage | UnusableMessage {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0")
    return { problem: "the message is not JSON-RPC 2.0" };
  const { id, method, params, result, error } = value;
  if (id !== undefined && !isId(id))
    return { problem: "the message has an id that is neither a string nor a number" };
  const known = id === undefined ? {} : { id };
  if (method !== undefined) {
    if (typeof method !== "string") return { problem: "the message has a method that is not a string" };
    const hasParams = params === undefined || isJsonObject(params);
    return hasParams ? (value as WireMessage) : { problem: "the message has params that are not an object" };
  }
  if (id === undefined) return { problem: "the message is neither a request nor an answer" };
  if ((result === undefined) === (error === undefined)) {
    return { ...known, problem: "the answer must have either a result or an error" };
  }
  if (result !== undefined) {
    return isJsonObject(result)
      ? (value as WireMessage)
      : { ...known, problem: "the result is not an object" };
  }
  const isError =
    isJsonObject(error) && Number.isInteger(error["code"]) && typeof error["message"] === "string";
  return isError ? (value as WireMessage) : { ...known, problem: "the error has no code or no message" };
}

function isId(id: JsonValue): id is MessageId {
  return typeof id === "string" || typeof id === "number";
}

/** The id of an answer that was refused, so that its request need not wait until its deadline. */
function idOf(text: string): { readonly id?: MessageId } {
  if (text.length > MAX_MESSAGE_BYTES) return {};
  try {
    const { id, method } = JSON.parse(text) as { id?: unknown; method?: unknown };
    return method === undefined && (typeof id === "string" || typeof id === "number") ? { id } : {};
  } catch {
    return {};
  }
}

/** What Python and other languages write for values that JSON cannot represent. */
const CONSTANT = /^(?:NaN|Infinity|undefined)\b/;
const MAX_CONSTANT = "undefined".length + 1;

/** The number of characters at its beginning in which an answer names its request. */
const MAX_BEGINNING = 1_024;

/** The beginning of an answer up to its result, as libraries write it. */
const BEGINNING =
  /^\ufeff?\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]{1,256}"|-?\d{1,15})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/;

/** The same for an answer that is not JSON, such as one with `NaN`. */
function idBefore(text: string): { readonly id?: MessageId } {
  const [, id] = BEGINNING.exec(text.slice(0, MAX_BEGINNING)) ?? [];
  return id === undefined ? {} : { id: JSON.parse(id) as MessageId };
}
