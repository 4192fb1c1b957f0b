import type { JsonObject } from "../../json/value.ts";
import type { LogLevel } from "../log-level.ts";
import type { PauseWallTime } from "../wall-time.ts";

/** A tool of an MCP server. `openMcp` makes it; there is no way to write one down. */
export interface McpImplementation {
  readonly mcp: McpToolHandle;
}

/** A tool of an MCP server, with the connection to the server. */
export interface McpToolHandle {
  /** The definition as the server listed it, deeply frozen. */
  readonly listed: JsonObject;
  /** Whether there is a connection to the server now. */
  readonly isConnected: boolean;
  /** Calls the tool. Never rejects. */
  call(args: JsonObject, options: McpCallOptions): Promise<McpCallEnd>;
  /** Returns what the digest of the tool's definition covers besides what the tool itself declares. */
  toJSON(): JsonObject;
}

/** Options of {@link McpToolHandle.call}. */
export interface McpCallOptions {
  /** Cancels the call: the server is told so. */
  readonly signal: AbortSignal;
  /** Gets what the server reports while the call runs. Must not throw. */
  readonly onProgress?: (progress: McpProgress) => void;
  /** Gets what the server logs about the call. Must not throw. */
  readonly onLog?: (level: LogLevel, message: string) => void;
  /** Which call it is, so that its client can be found. Default: it has none. */
  readonly call?: McpCallIdentity;
  /** Stops the call's wall time while a person answers. Default: it goes on. */
  readonly pause?: PauseWallTime;
}

/** The ids of a call. */
export interface McpCallIdentity {
  readonly callId: string;
  readonly turnId?: string | undefined;
}

/** How far a call has come (MCP, "Progress"). */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  /** A text of the server. */
  readonly message?: string | undefined;
}

/** How a call of an MCP tool ended. Texts named `detail` are for operators. */
export type McpCallEnd =
  /** The server's `CallToolResult`, exactly and deeply frozen, without `resultType`. Its `content` is a list of objects. */
  | { readonly status: "result"; readonly result: JsonObject }
  /** The server answered with an error of JSON-RPC. `message` is its text. `refused`: it says that it did not call the tool. */
  | { readonly status: "error"; readonly message: string; readonly code: number; readonly refused: boolean }
  /** The answer is not one. `message` says why, and has nothing of the server. */
  | { readonly status: "malformed"; readonly message: string; readonly detail?: string }
  /** There is no connection, or it ended. `sent`: whether the server may have got the request. */
  | { readonly status: "unavailable"; readonly sent: boolean; readonly detail: string }
  /** The signal was aborted. */
  | { readonly status: "cancelled"; readonly sent: boolean };
