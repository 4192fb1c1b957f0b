import type { McpNotice } from "../sandboxes/remote/mcp-client/notice.ts";
import type { LogEntry } from "./log-entry.ts";

const LEVELS = {
  connected: "info",
  ended: "warn",
  server_down: "error",
  problem: "warn",
  stderr: "info",
  log: "info",
} as const;

/** Makes an entry of the log of something about an MCP server: the event is `mcp.` and its kind, such as `mcp.server_down`. */
export function mcpEntry({ kind, server, message }: McpNotice): LogEntry {
  return { level: LEVELS[kind], event: `mcp.${kind}`, fields: { server, message } };
}
