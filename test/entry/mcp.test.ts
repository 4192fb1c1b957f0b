import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/mcp exports exactly these names", async () => {
  expect(await exportedNames("mcp")).toEqual({
    values: ["openMcpServer"],
    types: [
      "ClientCapabilities",
      "McpClient",
      "McpComplete",
      "McpInputRequest",
      "McpOffers",
      "McpPrompt",
      "McpPromptArgument",
      "McpPromptMessages",
      "McpResource",
      "McpResourceContents",
      "McpResourceTemplate",
      "McpResourceTraits",
      "McpSender",
      "McpServer",
      "McpServerOptions",
      "McpStdio",
      "StdioStreams",
    ],
  });
});
