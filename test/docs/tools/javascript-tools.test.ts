import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { allow, type PolicyRequest } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { sandgate } from "../../cli/sandgate.ts";
import { serve } from "../../egress/servers.ts";
import { GrantedTool } from "../../sandboxes/quickjs/granted-tool.ts";

const text = readFileSync("docs/javascript-tools.md", "utf8");
const blocks = (language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, code = ""]) => code);
const block = (language: string): string => blocks(language)[0] ?? "";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

/** The names of the globals that a guest finds. */
async function guestGlobals(): Promise<readonly string[]> {
  const source = "export default () => Object.getOwnPropertyNames(globalThis).sort()";
  const tool = defineTool({ name: "globals", description: "", inputSchema: {}, quickjs: { source } });
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "1", name: "globals", arguments: {} },
    {
      registry: new ToolRegistry().register(tool),
      policy: { check: () => allow({ sandbox: "quickjs" }) },
      sandboxes,
      sessionId: "s",
    },
  );
  return execution?.output as unknown as readonly string[];
}

describe("docs/javascript-tools.md", () => {
  test("shows the example as it is", () => {
    expect(block("ts")).toBe(readFileSync("examples/javascript-tool/invoice.ts", "utf8"));
  });

  test("has commands that do what it says", async () => {
    const [check = "", run = ""] = block("sh").trim().split("\n");
    expect(await sandgate(check.split(" ").slice(1))).toMatchObject({ code: 0, stderr: "" });
    const [command = "", input = ""] = run.split(/ --input /);
    const outcome = await sandgate([...command.split(" ").slice(1), "--input", input.slice(1, -1)]);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(outcome.stdout)).toMatchObject({
      output: { total: "10.00", currency: "EUR" },
      log: [{ level: "info", message: "added up 1 lines" }],
      receipt: { used: { logLines: 1, nestedCalls: 0 } },
    });
  });

  test("names every global that there is, and no other", async () => {
    const named = [...(/The globals are (.*?)\./s.exec(text)?.[1] ?? "").matchAll(/`(\w+)`/g)].map(
      ([, name]) => name,
    );
    expect(named).toEqual(await guestGlobals());
  });
});

/** The globals of WinterTC's minimum common API (https://min-common-api.proposal.wintertc.org, the snapshot of 2025). */
const MINIMUM_COMMON_API = `
  AbortController AbortSignal Blob ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto CryptoKey
  CustomEvent DecompressionStream DOMException ErrorEvent Event EventTarget File FormData Headers MessageChannel
  MessageEvent MessagePort Performance PromiseRejectionEvent ReadableByteStreamController ReadableStream
  ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader Request
  Response SubtleCrypto TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream
  TransformStreamDefaultController URL URLPattern URLSearchParams WebAssembly WritableStream
  WritableStreamDefaultController WritableStreamDefaultWriter globalThis atob btoa clearTimeout clearInterval console
  crypto fetch navigator onerror onunhandledrejection onrejectionhandled performance queueMicrotask reportError self
  setTimeout setInterval structuredClone`;

test("docs/javascript-tools.md names every global of the minimum common API that does not exist", async () => {
  const globals = await guestGlobals();
  const [, list = ""] = /names that do not exist\nare (.*?)\. /s.exec(text) ?? [];
  const named = Array.from(list.matchAll(/`(\w+)`/g), ([, name]) => name);
  const missing = MINIMUM_COMMON_API.trim()
    .split(/\s+/)
    .filter((name) => !globals.includes(name));
  expect(named).toEqual(missing.sort());
});

describe("an example of what a grant gives", () => {
  const [files = "", network = ""] = blocks("js");

  test.skipIf(!workspaceIsSupported())("keeps notes in files, until they are full", async () => {
    const directory = mkdtempSync(join(tmpdir(), "sandgate-notes-"));
    const tool = new GrantedTool(sandboxes, files);
    const setting = {
      capabilities: { fs: [{ directory, at: "/notes", write: true }] },
      limits: { fileBytes: 100 },
    };
    const write = async (note: string): Promise<unknown> =>
      (await tool.call({ ...setting, input: { name: "a", text: note } })).output;
    expect(await write("first")).toEqual({ size: 6, notes: ["a.txt"] });
    expect(await write("second")).toEqual({ size: 13, notes: ["a.txt"] });
    expect(await write("x".repeat(100))).toEqual({ full: true });
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("first\nsecond\n");
    rmSync(directory, { recursive: true });
  });

  test("asks an API", async () => {
    const port = await serve((request, response) => {
      const isKnown = request.url === "/weather?city=K%C3%B6ln";
      response.writeHead(isKnown ? 200 : 404).end('{ "today": "rain" }');
    });
    const origin = `http://127.0.0.1:${port}`;
    const tool = new GrantedTool(sandboxes, network.replace("https://api.example.com", origin));
    const capabilities = { net: [{ origin, addresses: ["127.0.0.1/32"] }] };
    expect((await tool.call({ capabilities, input: { city: "Köln" } })).output).toBe("rain");
    const { error } = await tool.call({ capabilities, input: { city: "" } });
    expect(error?.message).toBe("the weather is not known: HTTP 404");
  });
});

test("the example calls another tool when its grant lets it", async () => {
  const file = new URL("../../../examples/javascript-tool/invoice.ts", import.meta.url);
  const registry = new ToolRegistry()
    .register({ name: "invoice", description: "", inputSchema: {}, quickjs: { file } })
    .register({ name: "exchange_rate", description: "", inputSchema: {}, host: () => 0.5 });
  const policy = {
    check: ({ tool }: PolicyRequest) =>
      allow(
        tool.name === "invoice"
          ? { sandbox: "quickjs", capabilities: { tools: ["exchange_rate"] } }
          : { sandbox: "host" },
      ),
  };
  const lines = [{ item: "paper", quantity: 4, price: "2.50" }];
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "1", name: "invoice", arguments: { currency: "USD", lines } },
    { registry, policy, sandboxes, sessionId: "s" },
  );
  expect(execution?.output).toEqual({ total: "5.00", currency: "EUR", rate: 0.5 });
});
