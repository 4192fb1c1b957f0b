// The tools of MCP servers

export { type ImportedServer, type McpImports, type McpOptions, openMcp } from "../mcp/import/open-mcp.ts";
export type { HttpServerOptions, StdioServerOptions } from "../mcp/import/server-options.ts";
export type { OAuthOptions } from "../mcp/oauth/oauth-options.ts";
export type { McpNotice } from "../sandboxes/remote/mcp-client/notice.ts";

// Serving MCP

export type { McpOffers, McpPrompt, McpResource, McpResourceTemplate } from "../mcp/server/mcp-offers.ts";
export { type McpClient, type McpServer, openMcpServer } from "../mcp/server/mcp-server.ts";
export type { McpServerOptions } from "../mcp/server/options.ts";
export type { McpStdio } from "../mcp/server/serve-stdio.ts";
