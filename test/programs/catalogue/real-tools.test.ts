import { expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { ToolIndex } from "../../../src/programs/catalogue/catalogue-tools.ts";
import { tool } from "../harness.ts";

/** Tools of servers that many people use, with their own long descriptions. */
const REAL: readonly (readonly [name: string, description: string, parameters: string])[] = [
  [
    "mcp_github_get_me",
    "Get details of the authenticated GitHub user. Use this when a request is about the user's own profile.",
    "",
  ],
  [
    "mcp_github_get_file_contents",
    "Get the contents of a file or directory from a GitHub repository",
    "owner repo path ref sha",
  ],
  ["mcp_github_get_commit", "Get details for a commit from a GitHub repository", "owner repo sha"],
  [
    "mcp_github_push_files",
    "Push multiple files to a GitHub repository in a single commit",
    "owner repo branch files message",
  ],
  [
    "mcp_github_get_team_members",
    "Get member usernames of a specific team in an organization.",
    "org team_slug",
  ],
  [
    "mcp_files_read_file",
    "Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.",
    "path head tail",
  ],
  [
    "mcp_files_get_file_info",
    "Retrieve detailed metadata about a file or directory. Returns comprehensive information.",
    "path",
  ],
  ["mcp_memory_search_nodes", "Search for nodes in the knowledge graph based on a query", "query"],
  [
    "mcp_memory_delete_entities",
    "Delete multiple entities and their associated relations from the knowledge graph",
    "entityNames",
  ],
  ["mcp_notion_get-self", "Notion | Retrieve your token's bot user", ""],
  ["mcp_notion_get-users", "Notion | List all users", "start_cursor page_size"],
  [
    "mcp_scrape",
    "Scrape content from one URL.\n\n**Best for:** a page whose files, users and repository you know about, to read or search.",
    "url formats",
  ],
  [
    "mcp_interact",
    "Interact with a page.\n\nFirst scrape the page: scrape returns an id. Scrape again to see a website's contents.",
    "id code",
  ],
];

test.each([
  ["who am i", "mcp_github_get_me"],
  ["whoami", "mcp_github_get_me"],
  ["Who is the logged-in user?", "mcp_github_get_me"],
  ["what is my username", "mcp_github_get_me"],
  ["am I signed in to notion", "mcp_notion_get-self"],
  ["read a file from github", "mcp_github_get_file_contents"],
  ["what do I know about Bob", "mcp_memory_search_nodes"],
  ["forget about Bob", "mcp_memory_delete_entities"],
  ["scrape a website", "mcp_scrape"],
])("%s: %s is among the first three of servers that many people use", (query, wanted) => {
  const servers = new ToolRegistry();
  for (const [name, description, parameters] of REAL) {
    const names = parameters.split(" ").filter((each) => each !== "");
    const properties = Object.fromEntries(names.map((each) => [each, { type: "string" }]));
    servers.register(tool(name, () => null, { description, inputSchema: { type: "object", properties } }));
  }
  expect(new ToolIndex(servers, []).search(query, 3, () => true).map(({ name }) => name)).toContain(wanted);
});
