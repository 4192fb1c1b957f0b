import { isJsonObject } from "../../json/value.ts";
import type { Effect } from "../sandbox.ts";

/** What went wrong before any byte of the request can have been sent, by the error's code. */
const NOT_SENT: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "its name cannot be resolved",
  EAI_AGAIN: "its name cannot be resolved now",
  EHOSTUNREACH: "no route to it",
  ENETUNREACH: "no route to it",
  UND_ERR_CONNECT_TIMEOUT: "no connection in time",
  CERT_HAS_EXPIRED: "its certificate is not valid",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not valid",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not valid",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is not valid",
};

/** A failure of the connection, for the model (no host, no address), and what it may have left behind. */
export function connectionFailure(error: unknown): {
  readonly message: string;
  readonly effect: Effect;
  readonly detail: string;
} {
  const code = errorCode(error);
  const detail = error instanceof Error ? String(error.stack) : String(error);
  const notSent = code === undefined ? undefined : NOT_SENT[code];
  if (notSent !== undefined)
    return { message: `Cannot reach the tool's server: ${notSent}`, effect: "none", detail };
  return { message: "The connection to the tool's server broke", effect: "unknown", detail };
}

/** With several addresses tried, the first one's failure speaks for all. */
function errorCode(error: unknown): string | undefined {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code: unknown = first instanceof Error && "code" in first ? first.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** `HTTP 500: connection refused`: the status, and what the server says of it. */
export function statusFailure(status: number, body: string): string {
  if (status >= 300 && status < 400 && status !== 304) return `HTTP ${status}: redirects are not followed`;
  const words = errorWords(body).trim();
  return words === "" ? `HTTP ${status}` : `HTTP ${status}: ${words}`;
}

/** Servers say it as text, `{ error }`, `{ message }` or `{ error: { message } }`. */
function errorWords(body: string): string {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return body;
  }
  for (const key of ["error", "message"]) {
    if (!isJsonObject(value)) break;
    const member: unknown = value[key];
    if (typeof member === "string") return member;
    if (isJsonObject(member) && typeof member["message"] === "string") return member["message"];
  }
  return typeof value === "string" ? value : body;
}
