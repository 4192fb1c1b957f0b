import type { QueueOwner } from "../../../base/fair-queue.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { McpCallEnd, McpCallOptions } from "../../../tool/implementations/remote-implementation.ts";
import { type McpConnection, NotConnectedError } from "./connection.ts";
import type { McpCallLink } from "./questions/open-calls.ts";
import type { LoadVerdict } from "./server-load.ts";
import { AuthorizationError, LaterRequestError, SessionGoneError, unsentErrorIn } from "./unsent.ts";
import type { Wire } from "./wire.ts";
import { STREAM_ENDED, UNUSABLE_ANSWER } from "./wire-filter.ts";

/**
 * Errors that a server gives to a request which it cannot read, before it calls a tool. "Invalid params"
 * (-32602), "method not found" (-32601) and "invalid request" (-32600) are not among them: tools also throw
 * them after they had an effect, and gateways pass on those of other servers.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([-32_700, -32_020, -32_021, -32_022]);

/** The code of a request whose headers do not match its body. */
const HEADER_MISMATCH = -32_020;

/** How a call ended, and what that shows about the server. */
export interface CallToolEnd {
  readonly value: McpCallEnd;
  readonly verdict: LoadVerdict | Promise<LoadVerdict>;
}

/** Options of {@link callTool}. */
export interface CallToolOptions extends Pick<McpCallOptions, "signal" | "trace" | "onProgress" | "onLog"> {
  /** The link to the client of the call. Default: no client can be asked. */
  readonly link?: McpCallLink | undefined;
}

/** The part of a tool that a call needs. */
export interface CalledTool {
  /** The server's own name of it. */
  readonly name: string;
  readonly inputSchema: JsonObject;
  /** Whether a call may be sent again if it is unknown whether the server received it. */
  readonly isRepeatable: boolean;
  /** The definition as the server listed it. */
  readonly listed: JsonObject;
}

/**
 * Calls a tool of a server. Never rejects.
 *
 * A request whose session the server no longer knew is sent again, once and in a new session. A request that
 * broke, or whose answer may come from a proxy before a server that was redeployed, is sent again only for a
 * repeatable tool; one that broke, only to a server of 2026-07-28.
 */
export async function callTool(
  connection: McpConnection,
  tool: CalledTool,
  args: JsonObject,
  options: CallToolOptions,
): Promise<CallToolEnd> {
  const first = await callOnce(connection, tool, args, options);
  // The tool may name other headers now. Its new definition has to be approved before it is called.
  if (first.end.status === "error" && first.end.code === HEADER_MISMATCH) connection.expireTools();
  const isLast = options.signal.aborted || !mayRepeat(first, tool);
  const last = isLast ? first : await callOnce(connection, tool, args, options);
  return { value: last.end, verdict: verdictOf(connection, last, options.signal) };
}

/** What an attempt shows about the server, for calls and for reads. */
function verdictOf(
  connection: McpConnection,
  { end, error, works }: Attempt,
  signal: AbortSignal,
): LoadVerdict | Promise<LoadVerdict> {
  // The signal of a read does not say whether its time is over, or someone cancelled it.
  if (end.status === "cancelled") return signal.reason === "cancelled" ? "unknown" : ping(connection);
  if (end.status !== "unavailable" || works) return "works";
  // A server that requires a login is not down.
  return unsentErrorIn(error) instanceof AuthorizationError ? "unknown" : "fails";
}

/** Milliseconds in which a server that works answers a ping. */
const PING_MS = 2_000;

/**
 * A call that takes longer than its caller allows says nothing about its server: otherwise one caller with slow calls would
 * have it paused for all. So the server is asked whether it works; any answer counts.
 */
async function ping(connection: McpConnection): Promise<LoadVerdict> {
  const signal = AbortSignal.timeout(PING_MS);
  try {
    const wire = await connection.wire(signal);
    await wire.ping(signal);
    return "works";
  } catch (error) {
    if (unsentErrorIn(error) !== undefined) return "fails";
    return endOf(error).status !== "unavailable" || refusesPings(error) ? "works" : "fails";
  }
}

/** Whether a server over HTTP answered that it does not take a request, as those do that know no pings. */
function refusesPings(error: unknown): boolean {
  const status: unknown = error instanceof Error && "status" in error ? error.status : undefined;
  return typeof status === "number" && status >= 400 && status < 500 && status !== 429;
}

/** A request was not sent, since its server is busy or paused. `message` is for the model. */
export class BusyError extends Error {
  override readonly name = "BusyError";
}

interface JudgedRead {
  readonly value: { readonly result: JsonObject } | { readonly error: unknown };
  readonly verdict: LoadVerdict | Promise<LoadVerdict>;
}

/** Reads something of a server, as `McpConnection.read` does, in its turn. Throws {@link BusyError} if it is not sent. */
export async function readInTurn(
  connection: McpConnection,
  owner: QueueOwner,
  ...[method, params, signal, link]: Parameters<McpConnection["read"]>
): Promise<JsonObject> {
  const read = await connection.load.run({ owner, signal }, async (): Promise<JudgedRead> => {
    try {
      return { value: { result: await connection.read(method, params, signal, link) }, verdict: "works" };
    } catch (error) {
      const end = signal.aborted ? ({ status: "cancelled", sent: true } as const) : endOf(error);
      return { value: { error }, verdict: verdictOf(connection, { end, error }, signal) };
    }
  });
  if ("result" in read) return read.result;
  if ("error" in read) throw read.error;
  throw new BusyError(read.status === "refused" ? read.message : "the request was cancelled");
}

interface Attempt {
  readonly end: McpCallEnd;
  /** Absent if there was no connection. */
  readonly wire?: Wire;
  /** Whether the server did not know the session. */
  readonly isGone?: boolean;
  /** Why there is no answer. */
  readonly error?: unknown;
  /** Whether the server works, although it got no call. */
  readonly works?: true;
}

function mayRepeat({ end, wire, isGone }: Attempt, { isRepeatable }: CalledTool): boolean {
  if (isGone === true) return true;
  if (wire === undefined || !isRepeatable || end.status === "result") return false;
  return wire.isLost || (wire.isModern && end.status === "unavailable" && end.sent);
}

async function callOnce(
  connection: McpConnection,
  tool: CalledTool,
  args: JsonObject,
  options: CallToolOptions,
): Promise<Attempt> {
  const { signal, link } = options;
  const { name, inputSchema } = tool;
  let wire: Wire;
  try {
    wire = await connection.wire(signal);
    if (!(await connection.lists(wire, tool, signal))) {
      const detail = "the server was restarted or redeployed, and its definition of the tool has changed";
      return { end: { status: "unavailable", sent: false, detail }, works: true };
    }
  } catch (error) {
    if (signal.aborted) return { end: { status: "cancelled", sent: false } };
    return { end: { status: "unavailable", sent: false, detail: messageOf(error) }, error };
  }
  try {
    const result = await wire.callTool(name, args, inputSchema, options, link);
    return { wire, end: isResult(result) ? { status: "result", result: withContent(result) } : MALFORMED };
  } catch (error) {
    if (signal.aborted) return { wire, end: { status: "cancelled", sent: true } };
    if (error instanceof LaterRequestError) return { wire, end: begun(endOf(error.cause)) };
    return { wire, end: endOf(error), error, isGone: unsentErrorIn(error) instanceof SessionGoneError };
  }
}

/**
 * The tool may have had an effect before the server asked for input, whether the following request failed or
 * not.
 */
function begun(end: McpCallEnd): McpCallEnd {
  if (end.status === "error") return { ...end, refused: false };
  return "sent" in end ? { ...end, sent: true } : end;
}

const MALFORMED = { status: "malformed", message: "The tool's server returned no valid result" } as const;

/** Whether a value is a `CallToolResult` (MCP, "Tools"). Servers leave out a `content` that is empty. */
function isResult({ content = [], isError }: JsonObject): boolean {
  const hasFlag = isError === undefined || typeof isError === "boolean";
  return (
    hasFlag && Array.isArray(content) && content.every((block) => isJsonObject(block) && "type" in block)
  );
}

function withContent(result: JsonObject): JsonObject {
  return result["content"] === undefined ? Object.freeze({ content: Object.freeze([]), ...result }) : result;
}

function endOf(error: unknown): McpCallEnd {
  const unsent = error instanceof NotConnectedError ? error : unsentErrorIn(error);
  if (unsent !== undefined) return { status: "unavailable", sent: false, detail: unsent.message };
  const detail = messageOf(error);
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  // It contains no text from the server.
  if (code === UNUSABLE_ANSWER)
    return { status: "malformed", message: `${MALFORMED.message}: ${detail}`, detail };
  if (code === STREAM_ENDED) return { status: "unavailable", sent: true, detail };
  // The SDK numbers the errors of servers, and names its own.
  if (typeof code === "number")
    return { status: "error", message: detail, code, refused: REFUSALS.has(code) };
  if (code === "UNSUPPORTED_RESULT_TYPE") {
    return {
      status: "malformed",
      message: "The tool's server asks for something that this client cannot give",
      detail,
    };
  }
  if (code === "INVALID_RESULT" || error instanceof SyntaxError) return { ...MALFORMED, detail };
  return { status: "unavailable", sent: true, detail };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
