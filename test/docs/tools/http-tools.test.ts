import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
// Inside: three texts of failed connections are compared with the page, without a server that fails so.
import { noResponseText } from "../../../src/sandboxes/remote/endpoint/outcome.ts";
import { compileUrl } from "../../../src/tool/http-template.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";

const root = dirname(dirname(dirname(import.meta.dirname)));
const text = readFileSync(`${root}/docs/http-tools.md`, "utf8");
const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "ms").exec(text)?.[1] ?? "";

let seen: { readonly line: string; readonly headers: IncomingHttpHeaders; readonly body: string } | undefined;
let answer: (response: ServerResponse) => void = (response) => response.end("{}");
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  seen = { line: `${request.method} ${request.url}`, headers: request.headers, body };
  answer(response);
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const generated = `${root}/.cache/docs-http-tools`;
afterAll(() => {
  rmSync(generated, { recursive: true, force: true });
  server.closeAllConnections();
  server.close();
});

/** A document's text, with our server for its endpoint. */
const atServer = (original: string): string =>
  original
    .replaceAll(
      /net: \["?https:\/\/api\.example\.com"?\]/g,
      `net: [{ origin: "${origin}", addresses: ["127.0.0.1/32"] }]`,
    )
    .replaceAll("https://api.example.com", origin);

async function dispatchExample(): Promise<ToolExecution> {
  vi.stubEnv("TRACKER_TOKEN", "t-123");
  const folder = await createFolder({ "sandgate.yaml": atServer(block("yaml")) });
  const input = JSON.parse(/A call with `(\{.*?\})` sends/.exec(text)?.[1] ?? "");
  const { code, stdout } = await sandgate(
    ["dispatch", "--config", `${folder}/sandgate.yaml`, "--output", "json"],
    { stdin: JSON.stringify([{ id: "1", name: "create_issue", arguments: input }]) },
  );
  vi.unstubAllEnvs();
  const [execution] = JSON.parse(stdout).executions;
  expect(code).toBe(0);
  expect(stdout).not.toContain("t-123");
  return execution;
}

describe("docs/http-tools.md", () => {
  test("has a config that checks, and sends what it says", async () => {
    const folder = await createFolder({ "sandgate.yaml": block("yaml") });
    vi.stubEnv("TRACKER_TOKEN", "t-123");
    const checked = await sandgate(["check", "--config", `${folder}/sandgate.yaml`]);
    expect(checked.stdout + checked.stderr).toMatch(/1 tool, 0 errors, 0 warnings/);
    answer = (response) => response.writeHead(201).end('{"issue":{"number":7},"token":"t-123"}');
    const { output, receipt } = await dispatchExample();
    expect(output).toEqual({ number: 7 });
    expect(receipt.used).toMatchObject({ contacted: [{ origin, address: "127.0.0.1" }], attempts: 1 });
    const [head = "", body = ""] = block("http").trim().split("\n\n");
    const [line, ...fields] = head.split("\n");
    expect(seen).toMatchObject({ line, body });
    for (const field of fields) {
      const [name = "", value = ""] = field.split(": ");
      expect(seen?.headers[name]).toBe(value.replace("…", "t-123"));
    }
  });

  test("has a program that runs", async () => {
    mkdirSync(generated, { recursive: true });
    writeFileSync(`${generated}/program.ts`, atServer(block("ts")));
    answer = (response) => response.end("[1]");
    const { execution } = await import(`${generated}/program.ts`);
    expect(execution).toMatchObject({ success: true, output: [1] });
    expect(seen).toMatchObject({
      line: "GET /issues?q=roof%20%26%20rain",
      headers: { "x-api-key": "k-123" },
    });
  });

  const templates = [...text.matchAll(/^\| `(\/.*?)` \| `(\{.*?\})` \| `(.*?)` \|$/gm)];

  test.each(
    templates.map(([, template = "", input = "", url = ""]) => [template, input, url]),
  )("expands %s with %s to %s", (template, input, url) => {
    expect(compileUrl(`https://api.example.com${template}`).expand(JSON.parse(input))).toBe(
      `https://api.example.com${url}`,
    );
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ["another status", (response) => response.writeHead(422).end('{"message":"no such user"}')],
    ["the connection ended early", (response) => response.socket?.destroy()],
    ["invalid JSON", (response) => response.end("<html>")],
    ["the pointer selects nothing", (response) => response.end("{}")],
    ["too large", (response) => response.end("x".repeat(100_000))],
  ])("says what the model reads: %s", async (what, reply) => {
    answer = reply;
    const { error } = await dispatchExample();
    const row = new RegExp(`^\\| ${what} \\| \`(.*?)\`.*? \\| (?:none / )?(\\w+) \\|$`, "m").exec(text);
    expect([error?.message, error?.effect]).toEqual(row?.slice(1));
  });

  test.each([
    "connection_refused",
    "connection_lost",
    "response_invalid",
  ] as const)("quotes the text of %s", (code) => expect(text).toContain(`\`${noResponseText(code)}\``));

  test("has a row for each member of the request", () => {
    const members = [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(members).toEqual([
      "method",
      "url",
      "headers",
      "query",
      "body",
      "bodyFormat",
      "response",
      "maxRedirects",
    ]);
    expect(templates).toHaveLength(5);
  });

  test("has a tool in the config that reads any page of the documentation", async () => {
    const yaml = /^## Any URL$.*?```yaml file=sandgate\.yaml\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
    const grant = `net: [{ origin: "${origin}", addresses: ["127.0.0.1/32"] }]`;
    const folder = await createFolder({
      "sandgate.yaml": yaml.replace('net: ["https://docs.example.com"]', grant),
    });
    answer = (response) => response.setHeader("content-type", "text/plain").end("a page");
    const stdin = JSON.stringify([{ id: "1", name: "read_page", arguments: { url: `${origin}/a` } }]);
    const { stdout } = await sandgate(
      ["dispatch", "--config", `${folder}/sandgate.yaml`, "--output", "json"],
      { stdin },
    );
    const [{ output }] = JSON.parse(stdout).executions;
    expect(output).toMatchObject({ url: `${origin}/a`, status: 200, text: "a page" });
    expect(seen?.line).toBe("GET /a");
  });
});
