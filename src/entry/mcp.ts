// The tools of MCP servers

export type { CallingClient, ClientOfCall, McpAsk } from "../mcp/gateway/client-link.ts";
export { type ImportedServer, type McpImports, type McpOptions, openMcp } from "../mcp/import/open-mcp.ts";
export type {
  HttpServerOptions,
  ImportedServerOptions,
  ServerTraits,
  StdioServerOptions,
} from "../mcp/import/server-options.ts";
export type { ToolClasses } from "../mcp/import/tool-class.ts";
export type { OAuthOptions } from "../mcp/oauth/oauth-options.ts";
export type { McpNotice, OnMcpNotice } from "../sandboxes/remote/mcp-client/notice.ts";
export type { McpServerInfo } from "../sandboxes/remote/mcp-client/wire.ts";

// Serving MCP

export type {
  McpComplete,
  McpOffers,
  McpPrompt,
  McpPromptArgument,
  McpPromptMessages,
  McpResource,
  McpResourceContents,
  McpResourceTemplate,
  McpResourceTraits,
} from "../mcp/server/mcp-offers.ts";
export { type McpClient, type McpServer, openMcpServer } from "../mcp/server/mcp-server.ts";
export type { McpSender, McpServerOptions } from "../mcp/server/options.ts";
export type { ClientCapabilities, McpInputRequest } from "../mcp/server/runs/input-requests.ts";
export type { McpStdio, StdioStreams } from "../mcp/server/stdio/serve-stdio.ts";
export type { McpCallIdentity, McpProgress } from "../tool/implementations/mcp-implementation.ts";
