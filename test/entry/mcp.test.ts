import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/mcp exports exactly these names", async () => {
  expect(await exportedNames("mcp")).toEqual({
    values: ["openMcp", "openMcpServer"],
    types: [
      "ClientCapabilities",
      "HttpServerOptions",
      "ImportedServer",
      "ImportedServerOptions",
      "McpClient",
      "McpComplete",
      "McpImports",
      "McpInputRequest",
      "McpNotice",
      "McpOffers",
      "McpOptions",
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
      "StdioServerOptions",
      "StdioStreams",
      "ToolClasses",
    ],
  });
});
