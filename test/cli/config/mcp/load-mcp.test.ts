import { join } from "node:path";
import { expect, test } from "vitest";
import { createFolder, sandgate } from "../../sandgate.ts";

async function check(mcp: string): Promise<string> {
  const folder = await createFolder({
    "sandgate.yaml": `tools:
  - { name: a, description: A., inputSchema: { type: object }, quickjs: { source: "export default () => 1" } }
policy: { rules: [] }
server: { mcp: ${mcp} }
`,
  });
  const { stdout, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  return stdout + stderr;
}

test.each([
  ["{ confirm: always }", "must be one of elicitation, none"],
  ["{ approvalUrl: console }", "must be a URL with http: or https:"],
  ["{ oauth: { resource: 'https://a.example/mcp' } }", "issuer"],
  ["{ oauth: { resource: 'https://a.example/x', issuer: https://b.example } }", "/mcp"],
  [
    "{ oauth: { resource: 'https://a.example/mcp', issuer: https://b.example, algorithms: [HS256] } }",
    "ES256",
  ],
  [
    "{ oauth: { resource: 'https://a.example/mcp', issuer: https://b.example } }, dropNetwork: true",
    "network",
  ],
  ["{ unknown: 1 }", "unknown"],
])("a config with server.mcp: %s has a problem that says what is wrong", async (mcp, message) => {
  expect(await check(mcp)).toContain(message);
});

test("members of a program beside the url of an MCP server are named, with what to write instead", async () => {
  const server =
    "{ url: 'http://127.0.0.1:9/', net: ['https://a.example'], fs: [{ directory: . }], env: {}, cwd: a }";
  const folder = await createFolder({
    "sandgate.yaml": `mcp: { servers: { files: ${server} } }\npolicy: { rules: [] }\n`,
  });
  const { stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  for (const text of [
    "'net' has no effect",
    "'addresses' allows",
    "'fs' has no effect",
    "'headers' or 'bearer'",
    "'cwd'",
  ])
    expect(stderr).toContain(text);
});
