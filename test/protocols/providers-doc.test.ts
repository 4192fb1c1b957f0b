import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { AgentHooks } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { FORMATS } from "../../src/protocols/formats.ts";
import { MAX_ARGUMENTS_LENGTH, MAX_CALLS, MAX_STREAM_BYTES } from "../../src/protocols/parsing/limits.ts";
// Inside: compares the page with all stop reasons and with the limits of strict schemas.
import { STOP_REASONS } from "../../src/protocols/parsing/stop-reasons.ts";
import type { AgentsTool } from "../../src/protocols/providers/openai/agents-tool-set.ts";
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
  "@openai/agents": async () => OPENAI_AGENTS,
};

/** Stands for the SDK, which is not a dependency: its runner calls the agent's first tool once. */
const OPENAI_AGENTS = {
  tool: (options: AgentsTool) => options,
  Agent: class {
    readonly options: { readonly tools: readonly AgentsTool[] };
    constructor(options: { readonly tools: readonly AgentsTool[] }) {
      this.options = options;
    }
  },
  Runner: class {
    constructor(options: object) {
      expect(options).toEqual({
        toolNotFoundBehavior: "return_error_to_model",
        toolErrorFormatter: expect.any(Function),
        callModelInputFilter: expect.any(Function),
      });
    }
    async run({ options }: { options: { tools: readonly AgentsTool[] } }): Promise<{ finalOutput: string }> {
      const toolCall = { callId: "call_0", arguments: args };
      const result = await options.tools[0]?.execute(JSON.parse(args), undefined, { toolCall });
      return { finalOutput: `It is ${result}` };
    }
  },
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
async function run(title: string, more: object = {}, hooks: AgentHooks = {}): Promise<readonly string[]> {
  const code = snippets.get(title) ?? expect.fail(`no snippet '${title}'`);
  const sandboxes = await openSandboxes();
  onTestFinished(() => sandboxes[Symbol.asyncDispose]());
  const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "doc", hooks };
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

/** Starts a server that answers requests with these bodies in turn. Returns its URL and the bodies of the requests. */
async function answer(...bodies: string[]): Promise<{ url: string; requests: unknown[] }> {
  const requests: unknown[] = [];
  const server = createServer(async (request, response) => {
    requests.push(JSON.parse(await text(request)));
    const body = bodies.shift();
    const type = body?.startsWith("{") ? "application/json" : "text/event-stream";
    response.writeHead(body === undefined ? 400 : 200, { "content-type": type }).end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Runs a snippet against a server that answers with these bodies in turn. */
async function converse(
  title: string,
  bodies: readonly string[],
  hooks?: AgentHooks,
): Promise<{ printed: readonly string[]; requests: readonly unknown[] }> {
  const { url, requests } = await answer(...bodies);
  vi.stubEnv("OPENAI_API_KEY", "none");
  vi.stubEnv("OPENAI_BASE_URL", url);
  const redirected = (target: string, init: RequestInit): Promise<Response> =>
    fetch(target.replace(/^https:\/\/[^/]+/, url), init);
  return { printed: await run(title, { fetch: redirected }, hooks), requests };
}

afterEach(() => vi.unstubAllEnvs());

const input = { a: 2, b: 3 };
const args = JSON.stringify(input);

/** How a provider writes a message: a text, calls with these arguments as text, and why it stopped. */
interface Wording {
  readonly done: string;
  /** The reason of a message without calls. Default: `done`. */
  readonly said?: string;
  readonly cutOff: string;
  readonly write: (text: string, calls: readonly string[], reason: string) => string;
}

const chatCalls = (calls: readonly string[]): object[] =>
  calls.map((args, index) => ({
    id: `call_${index}`,
    type: "function",
    function: { name: "add", arguments: args },
  }));
/** Arguments as a provider parses them: those that were cut off are empty. */
const parsed = (args: string): object => {
  try {
    return JSON.parse(args);
  } catch {
    return {};
  }
};

const WORDINGS: Readonly<Record<string, Wording>> = {
  "OpenAI Chat Completions": {
    done: "tool_calls",
    said: "stop",
    cutOff: "length",
    write: (content, calls, finish_reason) => {
      const message = { role: "assistant", content, tool_calls: calls.length > 0 ? chatCalls(calls) : null };
      return JSON.stringify({ choices: [{ message, finish_reason }] });
    },
  },
  "OpenAI Responses": {
    done: "completed",
    cutOff: "max_output_tokens",
    write: (text, calls, reason) => {
      const said = { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
      const items = calls.map((args, index) => ({
        type: "function_call",
        call_id: `call_${index}`,
        name: "add",
        arguments: args,
      }));
      const status = reason === "completed" ? reason : "incomplete";
      const output = [{ type: "reasoning", id: "rs" }, said, ...items];
      return JSON.stringify({ status, incomplete_details: status === reason ? null : { reason }, output });
    },
  },
  "Anthropic Messages": {
    done: "tool_use",
    said: "end_turn",
    cutOff: "max_tokens",
    write: (text, calls, stop_reason) =>
      toServerSentEvents([
        { type: "message_start", message: { content: [] } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text } },
        { type: "content_block_stop", index: 0 },
        ...calls.flatMap((partial_json, index) => [
          {
            type: "content_block_start",
            index: index + 1,
            content_block: { type: "tool_use", id: `call_${index}`, name: "add", input: {} },
          },
          {
            type: "content_block_delta",
            index: index + 1,
            delta: { type: "input_json_delta", partial_json },
          },
          { type: "content_block_stop", index: index + 1 },
        ]),
        { type: "message_delta", delta: { stop_reason } },
        { type: "message_stop" },
      ]),
  },
  "Google Gemini": {
    done: "STOP",
    cutOff: "MAX_TOKENS",
    write: (text, calls, finishReason) => {
      // This provider leaves out a call that was cut off.
      const complete = calls.filter((args) => args.endsWith("}"));
      const parts = complete.map((args) => ({ functionCall: { name: "add", args: JSON.parse(args) } }));
      const content = { role: "model", parts: [{ text }, ...parts] };
      return JSON.stringify({ candidates: [{ content, finishReason }] });
    },
  },
  "Cohere Chat": {
    done: "TOOL_CALL",
    said: "COMPLETE",
    cutOff: "MAX_TOKENS",
    write: (tool_plan, calls, finish_reason) => {
      const message = { role: "assistant", tool_plan, tool_calls: chatCalls(calls) };
      return JSON.stringify({ message, finish_reason });
    },
  },
  "Amazon Bedrock Converse": {
    done: "tool_use",
    said: "end_turn",
    cutOff: "max_tokens",
    write: (text, calls, stopReason) => {
      const uses = calls.map((args, index) => ({
        toolUse: { toolUseId: `call_${index}`, name: "add", input: parsed(args) },
      }));
      const message = { role: "assistant", content: [{ text }, ...uses] };
      return JSON.stringify({ output: { message }, stopReason });
    },
  },
};

describe.each(Object.entries(WORDINGS))("the loop for %s", (title, { done, said, cutOff, write }) => {
  const answered = write("It is 5", [], said ?? done);
  const half = '{"a":2';

  test("runs the calls, and sends the results back", async () => {
    const { printed, requests } = await converse(title, [write("So.", [args, args], done), answered]);
    expect(printed).toEqual(["It is 5"]);
    expect(requests).toHaveLength(2);
    const [first, second] = requests.map((request) => JSON.stringify(request));
    expect(first).toContain('"add"');
    expect(second).toMatch(/So\..*"(?:5|output":"5)".*"(?:5|output":"5)"/);
  });

  test("ends if a hook aborts every call of a message", async () => {
    const hooks = { onToolCall: () => "abort" as const };
    const { printed, requests } = await converse(title, [write("So.", [args, args], done)], hooks);
    expect(printed).toEqual(["So."]);
    expect(requests).toHaveLength(1);
  });

  test("goes on if a hook aborts one of the calls", async () => {
    let seen = 0;
    const hooks = { onToolCall: () => (++seen === 1 ? ("abort" as const) : "continue") } as const;
    const bodies = [write("So.", [args, args], done), answered];
    const { printed, requests } = await converse(title, bodies, hooks);
    expect(printed).toEqual(["It is 5"]);
    expect(requests).toHaveLength(2);
  });

  test("ends, and says so, if a message was cut off inside its first call", async () => {
    let seen = 0;
    const hooks = { onToolCall: () => void ++seen };
    const { printed, requests } = await converse(title, [write("So.", [half], cutOff)], hooks);
    expect(printed).toEqual([`cut off: ${cutOff}`]);
    expect(requests).toHaveLength(1);
    expect(seen).toBe(0);
  });

  test("does not run the call before the one in which a message was cut off", async () => {
    const { printed, requests } = await converse(title, [write("So.", [args, half], cutOff), answered]);
    expect(printed).toEqual(["It is 5"]);
    const second = JSON.stringify(requests[1]);
    expect(second).toContain("Tool call was not run: its message was cut off");
    expect(second).not.toContain("call_1");
  });
});

/** What a provider sends besides a call, and rejects the next request without. */
const OPAQUE: readonly {
  readonly of: string;
  readonly title: string;
  readonly bodies: readonly string[];
  /** Returns what of it came back. */
  readonly back: (request: unknown) => unknown;
  readonly expected: unknown;
}[] = [
  {
    of: "DeepSeek",
    title: "OpenAI Chat Completions",
    bodies: ["", "stop"].map((reason) => {
      const message = { role: "assistant", content: "", reasoning_content: "I add them." };
      const choice =
        reason === "" ? { ...message, tool_calls: chatCalls([args]) } : { ...message, content: "It is 5" };
      return JSON.stringify({ choices: [{ message: choice, finish_reason: reason || "tool_calls" }] });
    }),
    back: (request) =>
      (request as { messages: { reasoning_content?: string }[] }).messages[1]?.reasoning_content,
    expected: "I add them.",
  },
  {
    of: "Gemini as OpenAI",
    title: "OpenAI Chat Completions",
    bodies: ["tool_calls", "stop"].map((finish_reason) => {
      const [call] = chatCalls([args]);
      const signed = { ...call, extra_content: { google: { thought_signature: "c2ln" } } };
      const tool_calls = finish_reason === "stop" ? null : [signed];
      return JSON.stringify({
        choices: [{ message: { role: "assistant", content: "It is 5", tool_calls }, finish_reason }],
      });
    }),
    back: (request) =>
      (request as { messages: { tool_calls?: { extra_content?: object }[] }[] }).messages[1]?.tool_calls?.[0]
        ?.extra_content,
    expected: { google: { thought_signature: "c2ln" } },
  },
  {
    of: "Gemini",
    title: "Google Gemini",
    bodies: [
      [
        { text: "I add them.", thought: true, thoughtSignature: "dGV4dA==" },
        { functionCall: { name: "add", args: input }, thoughtSignature: "c2ln" },
        { functionCall: { name: "add", args: input } },
      ],
      [{ text: "It is 5" }],
    ].map((parts) =>
      JSON.stringify({ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] }),
    ),
    back: (request) => (request as { contents: { parts: object[] }[] }).contents[1]?.parts,
    expected: [
      { text: "I add them.", thought: true, thoughtSignature: "dGV4dA==" },
      { functionCall: { name: "add", args: input }, thoughtSignature: "c2ln" },
      { functionCall: { name: "add", args: input } },
    ],
  },
  {
    of: "Anthropic",
    title: "Anthropic Messages",
    bodies: [
      toServerSentEvents([
        { type: "message_start", message: { content: [] } },
        {
          type: "content_block_start",
          index: 0,
          content_block: { type: "thinking", thinking: "", signature: "" },
        },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "I add" } },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: " them." } },
        { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
        { type: "content_block_stop", index: 0 },
        {
          type: "content_block_start",
          index: 1,
          content_block: { type: "redacted_thinking", data: "b3BhcXVl" },
        },
        { type: "content_block_stop", index: 1 },
        {
          type: "content_block_start",
          index: 2,
          content_block: { type: "tool_use", id: "a", name: "add", input: {} },
        },
        { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: args } },
        { type: "content_block_stop", index: 2 },
        { type: "message_delta", delta: { stop_reason: "tool_use" } },
        { type: "message_stop" },
      ]),
      WORDINGS["Anthropic Messages"]?.write("It is 5", [], "end_turn") ?? "",
    ],
    back: (request) => (request as { messages: { content: object[] }[] }).messages[1]?.content,
    expected: [
      { type: "thinking", thinking: "I add them.", signature: "c2ln" },
      { type: "redacted_thinking", data: "b3BhcXVl" },
      { type: "tool_use", id: "a", name: "add", input },
    ],
  },
  {
    of: "Claude on Bedrock",
    title: "Amazon Bedrock Converse",
    bodies: [
      JSON.stringify({
        output: {
          message: {
            role: "assistant",
            content: [
              { reasoningContent: { reasoningText: { text: "I add them.", signature: "c2ln" } } },
              { toolUse: { toolUseId: "a", name: "add", input } },
            ],
          },
        },
        stopReason: "tool_use",
      }),
      WORDINGS["Amazon Bedrock Converse"]?.write("It is 5", [], "end_turn") ?? "",
    ],
    back: (request) => (request as { messages: { content: object[] }[] }).messages[1]?.content,
    expected: [
      { reasoningContent: { reasoningText: { text: "I add them.", signature: "c2ln" } } },
      { toolUse: { toolUseId: "a", name: "add", input } },
    ],
  },
];

test.each(OPAQUE)("the loop for $title sends back what $of wants back", async ({
  title,
  bodies,
  back,
  expected,
}) => {
  const { printed, requests } = await converse(title, bodies);
  expect(printed).toEqual(["It is 5"]);
  expect(back(requests[1])).toEqual(expected);
});

describe("each other snippet of docs/providers.md runs", () => {
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

  test("OpenAI Agents", async () => {
    expect(await run("OpenAI Agents")).toEqual(["It is 5"]);
  });

  test("Native", async () => {
    expect(await run("Native")).toEqual(['[{"type":"text","text":"5"}]']);
  });

  test("and there are no others", () => expect(snippets.size).toBe(Object.keys(WORDINGS).length + 3));
});

test("docs/providers.md lists what every stop reason says", () => {
  for (const format of FORMATS.filter((format) => format !== "native")) {
    const words = (ending: string): string =>
      Object.entries(STOP_REASONS[format])
        .flatMap(([reason, said]) => (said === ending ? [`\`${reason}\``] : []))
        .join(", ");
    expect(document).toContain(`| \`${format}\` | ${words("whole")} | ${words("cut off")} |`);
  }
});

test("docs/providers.md has every format, and the actual bounds and limits", () => {
  const rows = [...document.matchAll(/^\| `([a-z-]+)` \| `\w+Protocol`/gm)].map(([, format]) => format);
  expect(rows).toEqual(FORMATS);
  const told = [
    `${MAX_CALLS.toLocaleString("en")} calls in a message`,
    `${MAX_ARGUMENTS_LENGTH / 2 ** 20} MiB of arguments`,
    `${MAX_STREAM_BYTES / 2 ** 20} MiB and 512 levels`,
    `${OPENAI_STRICT.maxDepth} levels, ${OPENAI_STRICT.tool.properties.toLocaleString("en")} properties`,
    `${OPENAI_STRICT.tool.enumValues.toLocaleString("en")} enum values`,
    `${OPENAI_STRICT.tool.text.toLocaleString("en")} characters`,
    `${OPENAI_STRICT.tool.longEnum.toLocaleString("en")} in an enum of more than 250 values`,
    `${ANTHROPIC_STRICT.request.tools} strict tools, ${ANTHROPIC_STRICT.request.optional} optional`,
    `${ANTHROPIC_STRICT.request.unions} unions in a request`,
  ];
  for (const text of told) expect(document).toContain(text);
});
