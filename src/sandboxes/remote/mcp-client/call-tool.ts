import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import type { McpCallEnd, McpCallOptions } from "../../../tool/implementations/mcp-implementation.ts";
import { type McpConnection, NotConnectedError } from "./connection.ts";
import type { McpCallLink } from "./questions/call-link.ts";
import { unsentErrorIn } from "./unsent.ts";
import type { Wire } from "./wire.ts";
import { STREAM_ENDED, UNUSABLE_ANSWER } from "./wire-filter.ts";

/**
 * Errors that a server gives to a request which it cannot read, before it calls a tool. "Invalid params" (-32602), "method
 * not found" (-32601) and "invalid request" (-32600) are none of them: tools throw them, too, after they did something, and
 * gateways pass on those of other servers.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([-32_700, -32_020, -32_021, -32_022]);

/** The code of a request whose headers do not match its body. */
const HEADER_MISMATCH = -32_020;

/** Options of {@link callTool}. */
export interface CallToolOptions extends Pick<McpCallOptions, "signal" | "onProgress" | "onLog"> {
  /** The way back to the client of the call. Default: it has none that can be asked. */
  readonly link?: McpCallLink | undefined;
}

/** A tool, as a call needs it. */
export interface CalledTool {
  /** The server's own name of it. */
  readonly name: string;
  readonly inputSchema: JsonObject;
  /** Whether a call may be sent once more if it is not known whether the server got it. */
  readonly isRepeatable: boolean;
}

/**
 * Calls a tool of a server. Never rejects.
 *
 * A request that broke is sent again, once and with a new id, only to a server of 2026-07-28 and for a repeatable tool.
 */
export async function callTool(
  connection: McpConnection,
  tool: CalledTool,
  args: JsonObject,
  options: CallToolOptions,
): Promise<McpCallEnd> {
  const first = await callOnce(connection, tool, args, options);
  // The tool may name other headers now. Its new definition has to be approved before it is called.
  if (first.end.status === "error" && first.end.code === HEADER_MISMATCH) connection.expireTools();
  const isBroken = first.end.status === "unavailable" && first.end.sent;
  if (!isBroken || !tool.isRepeatable || first.wire?.isModern !== true || options.signal.aborted)
    return first.end;
  return (await callOnce(connection, tool, args, options)).end;
}

interface Attempt {
  readonly end: McpCallEnd;
  readonly wire?: Wire;
}

async function callOnce(
  connection: McpConnection,
  { name, inputSchema }: CalledTool,
  args: JsonObject,
  options: CallToolOptions,
): Promise<Attempt> {
  const { signal, link } = options;
  let wire: Wire;
  try {
    wire = await connection.wire(signal);
  } catch (error) {
    if (signal.aborted) return { end: { status: "cancelled", sent: false } };
    return { end: { status: "unavailable", sent: false, detail: messageOf(error) } };
  }
  try {
    const result = await wire.callTool(name, args, inputSchema, options, link);
    return { wire, end: isResult(result) ? { status: "result", result } : MALFORMED };
  } catch (error) {
    return { wire, end: signal.aborted ? { status: "cancelled", sent: true } : endOf(error) };
  }
}

const MALFORMED = { status: "malformed", message: "The tool's server returned no valid result" } as const;

/** Whether a value is a `CallToolResult` (MCP, "Tools"). */
function isResult({ content, isError }: JsonObject): boolean {
  const hasFlag = isError === undefined || typeof isError === "boolean";
  return (
    hasFlag && Array.isArray(content) && content.every((block) => isJsonObject(block) && "type" in block)
  );
}

function endOf(error: unknown): McpCallEnd {
  const unsent = error instanceof NotConnectedError ? error : unsentErrorIn(error);
  if (unsent !== undefined) return { status: "unavailable", sent: false, detail: unsent.message };
  const detail = messageOf(error);
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === UNUSABLE_ANSWER) return { ...MALFORMED, detail };
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
