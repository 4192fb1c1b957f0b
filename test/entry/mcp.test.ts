import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/mcp exports exactly these names", async () => {
  expect(await exportedNames("mcp")).toEqual({
    values: ["openMcp", "openMcpServer"],
    types: [
      "CallingClient",
      "ClientCapabilities",
      "ClientOfCall",
      "HttpServerOptions",
      "ImportedServer",
      "ImportedServerOptions",
      "McpAsk",
      "McpCallIdentity",
      "McpClient",
      "McpComplete",
      "McpImports",
      "McpInputRequest",
      "McpNotice",
      "McpOffers",
      "McpOptions",
      "McpProgress",
      "McpPrompt",
      "McpPromptArgument",
      "McpPromptMessages",
      "McpResource",
      "McpResourceContents",
      "McpResourceTemplate",
      "McpResourceTraits",
      "McpSender",
      "McpServer",
      "McpServerInfo",
      "McpServerOptions",
      "McpStdio",
      "OAuthOptions",
      "OnMcpNotice",
      "ServerTraits",
      "StdioServerOptions",
      "StdioStreams",
      "ToolClasses",
    ],
  });
});
