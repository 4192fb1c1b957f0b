import { isUtf8 } from "node:buffer";
import { beginning, wellFormed } from "../base/text.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { ErrorCode } from "../engine/errors.ts";
import { parseJson } from "../json/parse.ts";
import type { JsonBounds } from "../json/refusal.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

/** What an agent reads of why its call failed. */
export type Slug = "tool_not_found" | "permission_denied" | "fs_denied" | "invalid_args" | "tool_failed";

/** The slug of each code of a call that did not run. A record, so that the compiler reports a code that is missing. */
const SLUGS: Readonly<Record<ErrorCode, Slug>> = {
  not_found: "tool_not_found",
  validation_error: "invalid_args",
  permission_denied: "permission_denied",
  user_denied: "permission_denied",
  confirmation_timeout: "permission_denied",
  timeout: "tool_failed",
  cancelled: "tool_failed",
  execution_error: "tool_failed",
  sandbox_unavailable: "tool_failed",
  limit_exceeded: "tool_failed",
  limit_unenforceable: "tool_failed",
};

/** The longest line in either direction, without its end. */
export const MAX_LINE_BYTES: number = 2 * 1_024 * 1_024;

/** The longest id of a call, in UTF-16 code units. */
const MAX_ID_LENGTH = 256;

const BOUNDS: JsonBounds = { length: MAX_LINE_BYTES, values: 100_000, members: 20_000 };

/** A call as an agent wrote it. */
export interface WireCall {
  readonly id: string;
  readonly tool: string;
  /** Deeply frozen. */
  readonly args: JsonObject;
}

/** A line of an agent: a call, an invalid call with an id, or a line for the log. */
export type WireLine =
  | ({ readonly kind: "call" } & WireCall)
  | { readonly kind: "bad"; readonly id: string; readonly message: string }
  | { readonly kind: "log"; readonly text: string };

/** Reads a line of an agent. Never throws. */
export function readLine(bytes: Buffer): WireLine {
  const text = bytes.toString("utf8");
  const log: WireLine = { kind: "log", text };
  if (!isUtf8(bytes)) return badLine(text, "the line is not UTF-8") ?? log;
  const parsed = parseJson(text, BOUNDS);
  if (!("value" in parsed)) {
    if (parsed.kind === "syntax") return log;
    return badLine(text, `${parsed.reason} (position ${parsed.position})`) ?? log;
  }
  const { value } = parsed;
  if (!isJsonObject(value) || value["op"] !== "tool_call" || !isId(value["tool_call_id"])) return log;
  const { tool_call_id: id, tool, args } = value;
  if (typeof tool !== "string") return bad(id, "tool must be string");
  if (!isJsonObject(args)) return bad(id, "args must be object");
  return { kind: "call", id, tool, args };
}

/** A call that is refused as a whole, if its id can be read. It is parsed only for that: the line is short enough. */
function badLine(text: string, message: string): WireLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || value["op"] !== "tool_call" || !isId(value["tool_call_id"])) return undefined;
  return bad(value["tool_call_id"], message);
}

function bad(id: string, problem: string): WireLine {
  return { kind: "bad", id, message: `Invalid tool call: ${problem}` };
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= MAX_ID_LENGTH;
}

/** How a call ended, as its agent reads it. */
export type Answer =
  | { readonly ok: true; readonly result: JsonValue; readonly durationMs: number }
  | { readonly ok: false; readonly error: Slug; readonly message: string };

/** Returns the line of an answer with its end. An answer that is too long is one that says so. */
export function answerLine(id: string, answer: Answer): Buffer {
  const head = { op: "tool_response", tool_call_id: id };
  if (answer.ok) {
    const { result, durationMs } = answer;
    const line = toLine({ ...head, ok: true, result, metadata: { durationMs } });
    if (line.length <= MAX_LINE_BYTES + 1) return line;
    const message = `The result is longer than ${MAX_LINE_BYTES / 1_048_576} MiB, the most of one line: ask for less`;
    return answerLine(id, { ok: false, error: "tool_failed", message });
  }
  const { error, message } = answer;
  return toLine({ ...head, ok: false, error, message: beginning(wellFormed(message), MAX_MESSAGE_LENGTH) });
}

const MAX_MESSAGE_LENGTH = 65_536;

const OTHER_ENDS = /[\u2028\u2029]/;

function toLine(value: object): Buffer {
  const text = JSON.stringify(value);
  // Some readers, such as node:readline, end a line at these as well.
  const escaped = OTHER_ENDS.test(text)
    ? text.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")
    : text;
  return Buffer.from(`${escaped}\n`);
}

/** Returns the slug of a call that did not run. */
export function slugOf(code: ErrorCode | "aborted"): Slug {
  return code === "aborted" ? "permission_denied" : SLUGS[code];
}

/** Returns the slug of a call that failed. Once the tool ran, every error is a failure of the tool. */
export function slugOfFailure({ error, receipt }: ToolExecution): Slug {
  return receipt.grant !== undefined || error === undefined ? "tool_failed" : slugOf(error.code);
}
