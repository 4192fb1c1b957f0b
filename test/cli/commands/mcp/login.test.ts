import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { run } from "../../../../src/cli/run.ts";
import { serveProtected } from "../../../mcp/oauth/authorization-server.ts";
import { createFolder, sandgate } from "../../sandgate.ts";

/** Runs a command, and opens the page that it prints, as a person would. */
async function runAndBrowse(argv: readonly string[]): Promise<{ code: number; stdout: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  let printed = "";
  stdout.on("data", (chunk: Buffer) => {
    printed += chunk;
    const [page] = /http:\S+\/authorize\S*/.exec(printed) ?? [];
    if (page === undefined) return;
    stdout.removeAllListeners("data");
    stdout.on("data", (rest: Buffer) => (printed += rest));
    void fetch(page);
  });
  const code = await run(argv, { stdin: Readable.from([]), stdout, stderr });
  return { code, stdout: printed + (await text(stderr.end())) };
}

test("sandgate mcp login gets tokens with a browser, the config uses them, and logout deletes them", async () => {
  await using server = await serveProtected();
  const folder = await createFolder({
    "sandgate.yaml": `
mcp:
  servers:
    s:
      url: ${server.url}
      addresses: [127.0.0.1/32]
      oauth: { tokens: ./tokens, net: [{ origin: "${server.issuer}", addresses: [127.0.0.1/32] }] }
policy: { rules: [] }
`,
  });
  const config = ["--config", join(folder, "sandgate.yaml")];
  const before = await sandgate(["check", ...config]);
  expect([before.code, before.stderr]).toEqual([2, expect.stringContaining("run 'sandgate mcp login s")]);
  const { code, stdout } = await runAndBrowse(["mcp", "login", "s", ...config]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("logged in to the MCP server 's'")]);
  expect((await stat(join(folder, "tokens"))).mode & 0o777).toBe(0o700);
  expect((await sandgate(["check", ...config])).stdout).toContain("1 tool, 0 errors");
  expect((await sandgate(["mcp", "logout", "s", ...config])).stdout).toContain("logged out");
  expect(await readdir(join(folder, "tokens"))).toEqual([]);
  expect((await sandgate(["mcp", "logout", "s", ...config])).stdout).toContain("there were no tokens");
});

test.each([
  ["s", "there is no MCP server 's' with oauth"],
  ["other", "there is no MCP server 'other' with oauth"],
])("sandgate mcp login refuses the server %s", async (name, problem) => {
  const folder = await createFolder({
    "sandgate.yaml": "mcp: { servers: { s: { url: 'https://a.example/mcp' } } }\npolicy: { rules: [] }\n",
  });
  const { code, stderr } = await sandgate(["mcp", "login", name, "--config", join(folder, "sandgate.yaml")]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
});

test("sandgate mcp login needs the name of a server", async () => {
  const { code, stderr } = await sandgate(["mcp", "login", "--config", "sandgate.yaml"]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("SERVER is missing: the name of an MCP server"),
  ]);
});
