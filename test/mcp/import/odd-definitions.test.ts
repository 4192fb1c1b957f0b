import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { bodyOf, type Served, serve } from "./http-servers.ts";
import { nodeServer, open } from "./open-hostile.ts";

const good = (name: string): string => `{"name":"${name}","inputSchema":{"type":"object"}}`;
const withSchema = (schema: string): string => `{"name":"odd","inputSchema":${schema}}`;

/** Definitions that cannot be used, as a server may write them. */
const ODD: Readonly<Record<string, string>> = {
  "an integer beyond 2^53": withSchema(
    '{"type":"object","properties":{"n":{"maximum":12345678901234567890}}}',
  ),
  "a decimal beyond the precision of a double": withSchema(
    '{"type":"object","properties":{"n":{"default":3.14159265358979323846264338327950288}}}',
  ),
  "a number that is too large": withSchema('{"type":"object","properties":{"n":{"maximum":1e400}}}'),
  "a repeated member": withSchema('{"type":"object","type":"object"}'),
  "a repeated name": '{"name":"odd","name":"odd","inputSchema":{"type":"object"}}',
  __proto__: withSchema('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
  "half a surrogate pair": `{"name":"odd","description":"\\ud800","inputSchema":{"type":"object"}}`,
  "half a surrogate pair in the name": `{"name":"odd\\udc00","inputSchema":{"type":"object"}}`,
  "a schema that is nested too deep": withSchema(
    `{"type":"object","properties":{"a":${'{"items":'.repeat(300)}{}${"}".repeat(300)}}}`,
  ),
  "a schema that is nested very deep": withSchema(
    `{"type":"object","default":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
  ),
  "a schema with very many values": withSchema(`{"type":"object","enum":[${"0,".repeat(1_500_000)}0]}`),
  "a schema that is no schema": withSchema('{"type":"object","properties":{"a":{"type":"dict"}}}'),
  "a schema that is not an object": withSchema("[1]"),
  "no schema": '{"name":"odd"}',
  "an output schema that is not an object": `{"name":"odd","inputSchema":{"type":"object"},"outputSchema":"object"}`,
  "an output schema that is no schema": `{"name":"odd","inputSchema":{"type":"object"},"outputSchema":{"type":7}}`,
  "icons that are not a list": `{"name":"odd","inputSchema":{"type":"object"},"icons":"x.png"}`,
  "icons that are not objects": `{"name":"odd","inputSchema":{"type":"object"},"icons":["x.png"]}`,
  "annotations that are not an object": `{"name":"odd","inputSchema":{"type":"object"},"annotations":true}`,
  "hints that are not true or false": `{"name":"odd","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`,
  "_meta that is not an object": `{"name":"odd","inputSchema":{"type":"object"},"_meta":[]}`,
  "a title that is not a string": `{"name":"odd","title":1,"inputSchema":{"type":"object"}}`,
  "a description that is not a string": `{"name":"odd","description":null,"inputSchema":{"type":"object"}}`,
  "a name that is not a string": '{"name":1,"inputSchema":{"type":"object"}}',
  "an item that is not an object": '"odd"',
  "an item that is null": "null",
  "a tool that is called only as a task": `{"name":"odd","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`,
};

/** A server of 2025-11-25 whose list of tools is a text. */
async function serveList(list: () => string, asEvents = false): Promise<Served> {
  return await serve(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method } = await bodyOf(request);
    if (id === undefined) return void response.writeHead(202).end();
    const answer = (result: string): void => {
      const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
      response.writeHead(200, { "content-type": asEvents ? "text/event-stream" : "application/json" });
      response.end(asEvents ? `data: ${text}\n\n` : text);
    };
    if (method === "server/discover") return void response.writeHead(400).end();
    if (method === "initialize") {
      const capabilities = { tools: { listChanged: true } };
      const serverInfo = { name: "odd", version: "1" };
      return answer(JSON.stringify({ protocolVersion: "2025-11-25", capabilities, serverInfo }));
    }
    if (method === "tools/list") return answer(list());
    answer('{"content":[{"type":"text","text":"ok"}]}');
  });
}

const listOf = (...items: readonly string[]): string => `{"tools":[${items.join(",")}]}`;
const problemsOf = (opened: { readonly notices: readonly { kind: string; message: string }[] }) =>
  opened.notices.filter(({ kind }) => kind === "problem").map(({ message }) => message);

describe("A definition of a tool with", () => {
  test.each(Object.entries(ODD))("%s costs that tool alone, and is named", async (what, odd) => {
    await using served = await serveList(() => listOf(good("first"), odd, good("last")));
    await using opened = await open({ web: served.options });
    expect(opened.registry.names).toEqual(["mcp_web_first", "mcp_web_last"]);
    expect((await opened.call("mcp_web_last")).success).toBe(true);
    const problems = problemsOf(opened);
    expect(problems).toHaveLength(1);
    const isNamed = odd.startsWith('{"name":"odd') && !what.includes("in the name");
    expect(problems[0]).toContain(isNamed ? "'odd'" : "2");
  });
});

test("All odd definitions at once cost themselves, in events and over stdio, too", async () => {
  const list = listOf(good("first"), ...Object.values(ODD), good("last"));
  await using served = await serveList(() => list, true);
  await using opened = await open({ web: served.options });
  expect(opened.registry.names).toEqual(["mcp_web_first", "mcp_web_last"]);
  const script = join(await scripts, "server.mjs");
  await writeFile(join(await scripts, "list.json"), list);
  await writeFile(script, STDIO_SERVER);
  const program = nodeServer(script);
  const listFile = join(await scripts, "list.json");
  const fs = [...(program.fs ?? []), { file: listFile, at: listFile }];
  await using stdio = await open({ io: { ...program, fs, args: [script, listFile] } });
  expect(stdio.registry.names).toEqual(["mcp_io_first", "mcp_io_last"]);
});

const scripts = mkdtemp(join(tmpdir(), "sandgate-odd-"));
afterAll(async () => rm(await scripts, { recursive: true, force: true }));

const STDIO_SERVER = `
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const list = readFileSync(process.argv[2], "utf8");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const say = (result) => process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + "}\\n");
  if (method === "initialize")
    say('{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}');
  else if (method === "tools/list") say(list);
  else if (id !== undefined)
    process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"error":{"code":-32601,"message":"unknown"}}\\n');
});
`;

test("A definition that becomes odd costs that tool in a process that runs, which takes the rest of the list", async () => {
  let list = listOf(good("a"), good("odd"));
  await using served = await serveList(() => list);
  await using opened = await open({ web: served.options });
  expect(opened.registry.names).toEqual(["mcp_web_a", "mcp_web_odd"]);
  list = listOf(good("a"), ODD["an integer beyond 2^53"] ?? "", good("b"));
  opened.mcp.servers.get("web")?.connection.expireTools();
  await expect.poll(() => opened.registry.names).toEqual(["mcp_web_a", "mcp_web_b"]);
  expect(problemsOf(opened).at(-1)).toContain("'odd'");
});

test("A list whose frame is odd is not taken in part", async () => {
  await using served = await serveList(() => `{"tools":[${good("a")}],"tools":[${good("b")}]}`);
  await using opened = await open({ web: served.options });
  expect(opened.registry.names).toEqual([]);
});

test("However the definitions are written, the good ones among them are taken", async () => {
  const oddItem = fc.oneof(
    fc.constantFrom(...Object.values(ODD).filter((text) => text.length < 10_000)),
    fc.json(),
    fc.json().map((json) => withSchema(json)),
    fc
      .json()
      .map((json) => `{"name":"odd","inputSchema":{"type":"object"},"annotations":${json},"icons":${json}}`),
    fc.json().map((json) => `{"name":"odd","inputSchema":{"type":"object","properties":{"a":${json}}}}`),
  );
  let list = listOf();
  await using served = await serveList(() => list);
  await using opened = await open({ web: served.options });
  const { connection } = opened.mcp.servers.get("web") ?? {};
  // Inside: the property reads 150 lists over one connection; the face would open one for each.
  const { ServerTools } = await import("../../../src/mcp/import/server-tools.ts");
  const { ToolNames } = await import("../../../src/mcp/import/tool-name.ts");
  const { ImportedClasses } = await import("../../../src/mcp/import/tool-name.ts");
  const { ToolRegistry } = await import("../../../src/engine/registry.ts");
  await fc.assert(
    fc.asyncProperty(fc.array(oddItem, { maxLength: 4 }), fc.nat(4), async (odd, at) => {
      list = listOf(...odd.slice(0, at), good("good"), ...odd.slice(at));
      if (connection === undefined) throw new Error("there is no connection");
      const registry = new ToolRegistry();
      const tools = new ServerTools({
        connection,
        registry,
        names: new ToolNames(),
        classes: new ImportedClasses(),
      });
      await tools.refresh(() => true);
      expect(registry.names).toContain("mcp_web_good");
    }),
    { numRuns: 150 },
  );
});
