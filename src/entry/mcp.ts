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
