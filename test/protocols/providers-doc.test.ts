import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { HostPolicy } from "../../src/policy/host-policy.ts";
import { FORMATS } from "../../src/protocols/formats.ts";
import { MAX_ARGUMENTS_LENGTH, MAX_CALLS, MAX_STREAM_BYTES } from "../../src/protocols/parsing/limits.ts";
import { ANTHROPIC_STRICT, OPENAI_STRICT } from "../../src/protocols/strict/subsets.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { toServerSentEvents } from "./streams.ts";

const document = readFileSync(new URL("../../docs/providers.md", import.meta.url), "utf8");
const snippets = new Map(
  [...document.matchAll(/^## ([^\n]+)\n(?:(?!^## ).)*?^```ts\n(.*?)^```$/gms)].map(([, title, code]) => [
    title ?? "",
    code ?? "",
  ]),
);

const number = { type: "number" } as const;
const registry = new ToolRegistry().register(
  defineTool({
    name: "add",
    description: "Adds",
    inputSchema: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
    host: ({ a, b }) => a + b,
  }),
);

/** The modules that the snippets import. */
const modules: Record<string, () => Promise<object>> = {
  "sandgate/protocols": () => import("sandgate/protocols"),
  openai: () => import("openai"),
  ai: () => import("ai"),
};

/** Returns the values that a snippet imports. */
async function importsOf(code: string): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [, byDefault, named, from] of code.matchAll(
    /^import (?:(\w+)|\{ ([^}]*) \}) from "([^"]+)";$/gm,
  )) {
    for (const name of byDefault === undefined ? (named ?? "").split(", ") : [byDefault]) {
      const module = (await modules[from ?? ""]?.()) ?? {};
      values[name] = Reflect.get(module, byDefault === undefined ? name : "default");
      expect(values[name], name).toBeTypeOf("function");
    }
  }
  return values;
}

/** Runs a snippet of the document. Returns its output. */
async function run(title: string, more: object = {}): Promise<readonly string[]> {
  const code = snippets.get(title) ?? expect.fail(`no snippet '${title}'`);
  const sandboxes = await openSandboxes();
  onTestFinished(() => sandboxes[Symbol.asyncDispose]());
  const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "doc" };
  const printed: string[] = [];
  const console = { log: (text: string) => printed.push(text) };
  const scope = {
    ...(await importsOf(code)),
    registry,
    ctx,
    engine: new ToolDispatchEngine(),
    console,
    ...more,
  };
  const body = stripTypeScriptTypes(code.replace(/^import .*$/gm, ""));
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  await new AsyncFunction(...Object.keys(scope), body)(...Object.values(scope));
  return printed;
}

/** Answers requests with these bodies in turn. Returns the bodies of the requests. */
function answer(...bodies: (object | string)[]): readonly unknown[] {
  const requests: unknown[] = [];
  vi.stubEnv("OPENAI_API_KEY", "none");
  vi.stubGlobal("fetch", async (_: unknown, init: RequestInit) => {
    requests.push(JSON.parse(String(init.body)));
    const body = bodies.shift();
    const type = typeof body === "string" ? "text/event-stream" : "application/json";
    return new Response(typeof body === "string" ? body : JSON.stringify(body), {
      headers: { "content-type": type },
    });
  });
  return requests;
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

const input = { a: 2, b: 3 };
const args = JSON.stringify(input);

describe("each snippet of docs/providers.md runs, and sends the results back", () => {
  test("OpenAI Chat Completions", async () => {
    const called = { id: "1", type: "function", function: { name: "add", arguments: args } };
    const choices = (message: object): object => ({
      choices: [{ message: { role: "assistant", ...message } }],
    });
    const requests = answer(choices({ tool_calls: [called] }), choices({ content: "It is 5" }));
    expect(await run("OpenAI Chat Completions")).toEqual(["It is 5"]);
    expect(requests).toHaveLength(2);
    expect(requests[0]).toMatchObject({ tools: [{ function: { name: "add", strict: true } }] });
    expect(requests[1]).toMatchObject({ messages: [{}, { tool_calls: [called] }, { content: "5" }] });
  });

  test("OpenAI Responses", async () => {
    const called = { type: "function_call", call_id: "1", name: "add", arguments: args };
    const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "It is 5" }] };
    const requests = answer({ output: [{ type: "reasoning", id: "rs" }, called] }, { output: [said] });
    expect(await run("OpenAI Responses")).toEqual(["It is 5"]);
    expect(requests[1]).toMatchObject({ input: [{}, { id: "rs" }, called, { call_id: "1", output: "5" }] });
  });

  test("Anthropic Messages", async () => {
    const toolUse = { type: "tool_use", id: "1", name: "add", input };
    const text = { type: "text", text: "It is 5" };
    const stream = (content_block: object): string =>
      toServerSentEvents([
        { type: "content_block_start", index: 0, content_block },
        { type: "content_block_stop", index: 0 },
      ]);
    const requests = answer(stream(toolUse), stream(text));
    expect(await run("Anthropic Messages")).toEqual(["It is 5"]);
    expect(requests[1]).toMatchObject({
      messages: [{}, { content: [toolUse] }, { content: [{ tool_use_id: "1", content: [{ text: "5" }] }] }],
    });
  });

  test("AI SDK 7", async () => {
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const called = { type: "tool-call", toolCallId: "1", toolName: "add", input: args } as const;
    const model = new MockLanguageModelV4({
      doGenerate: [
        { content: [called], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] },
        {
          content: [{ type: "text", text: "It is 5" }],
          finishReason: { unified: "stop", raw: undefined },
          usage,
          warnings: [],
        },
      ],
    });
    expect(await run("AI SDK 7", { model })).toEqual(["It is 5"]);
  });

  test("Native", async () => {
    expect(await run("Native")).toEqual(['[{"type":"text","text":"5"}]']);
  });

  test("and there are no others", () => expect(snippets.size).toBe(5));
});

test("docs/providers.md has every format, and the actual bounds and limits", () => {
  const rows = [...document.matchAll(/^\| `([a-z-]+)` \| `/gm)].map(([, format]) => format);
  expect(rows).toEqual(FORMATS);
  const told = [
    `${MAX_CALLS.toLocaleString("en")} calls in a message`,
    `${MAX_ARGUMENTS_LENGTH / 2 ** 20} MiB of arguments`,
    `${MAX_STREAM_BYTES / 2 ** 20} MiB and 512 levels`,
    `${OPENAI_STRICT.maxDepth} levels, ${OPENAI_STRICT.tool.properties.toLocaleString("en")} properties`,
    `${OPENAI_STRICT.tool.enumValues.toLocaleString("en")} enum values`,
    `${OPENAI_STRICT.tool.text.toLocaleString("en")} characters`,
    `${ANTHROPIC_STRICT.request.tools} strict tools, ${ANTHROPIC_STRICT.request.optional} optional`,
    `${ANTHROPIC_STRICT.request.unions} unions in a request`,
  ];
  for (const text of told) expect(document).toContain(text);
});
