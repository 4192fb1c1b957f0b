import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MCP_SERVERS } from "../../fixtures/mcp/npm-servers.ts";

const text = readFileSync(new URL("../../../docs/mcp-servers.md", import.meta.url), "utf8");

test("docs/mcp-servers.md has a row for every server that is tried, in its version, and for no other", () => {
  const rows = text.split("\n").filter((line) => line.startsWith("| ") && line.includes("`"));
  const tried = MCP_SERVERS.map(({ name, package: version }) => {
    const at = version.lastIndexOf("@");
    return `| ${name} | \`${version.slice(0, at)}\` | ${version.slice(at + 1)} |`;
  });
  expect(rows.map((row) => row.split(" | ").slice(0, 3).join(" | ").concat(" |"))).toEqual(tried);
});
