import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createFolder, PROJECT, sandgate, type TerminalOptions } from "../sandgate.ts";

const CALLS = [
  { id: "1", name: "add", arguments: { a: 1, b: 2 } },
  { id: "2", name: "hash", arguments: '{"text":"sandgate"}' },
  { id: "3", name: "upper", arguments: { text: "quiet" } },
  { id: "4", name: "add", arguments: '{"a": ' },
  { id: "5", name: "add", arguments: { a: "1", b: 2 } },
  { id: "6", name: "missing", arguments: {} },
  { id: "7", name: "forbidden", arguments: {} },
  { id: "8", name: "broken", arguments: {} },
];

/** Dispatches a message with the config of {@link PROJECT}, or with changed files. */
async function dispatch(
  message: unknown,
  { args = [], files = {}, ...options }: TerminalOptions & { args?: string[]; files?: object } = {},
): ReturnType<typeof sandgate> {
  const folder = await createFolder({ ...PROJECT, ...files, "message.json": JSON.stringify(message) });
  const argv = ["dispatch", join(folder, "message.json"), "--config", join(folder, "sandgate.yaml"), ...args];
  return sandgate(argv, options);
}

describe("sandgate dispatch prints the results", () => {
  test("as a table, and exits with 0 even if some calls failed", async () => {
    // A message has what a terminal would obey, if it is shown.
    const files = { "sandgate.yaml": `${PROJECT["sandgate.yaml"]}unhandledErrors: message\n` };
    const { code, stdout, stderr } = await dispatch(CALLS, { columns: 120, files });
    const rows = stdout.split("\n").map((line) => line.replace(/ +/g, " "));
    expect(rows).toEqual([
      expect.stringMatching(/^ call tool sandbox outcome rules time$/),
      expect.stringMatching(/^\| 1 add host ok: 3 on the host \S+$/),
      expect.stringMatching(/^\| 2 hash host ok: [0-9a-f]{64} on the host \S+$/),
      expect.stringMatching(/^\| 3 upper quickjs ok: QUIET isolated \S+$/),
      expect.stringMatching(
        /^\| 4 add - validation_error: Invalid JSON: unexpected end at position 6 - \S+$/,
      ),
      expect.stringMatching(/^\| 5 add - validation_error: Invalid arguments: \/a must be number - \S+$/),
      expect.stringMatching(/^\| 6 missing - not_found: Tool 'missing' not fou.*, forbidden\] - \S+$/),
      expect.stringMatching(/^\| 7 forbidden - permission_denied: Permission d.* denied \S+$/),
      expect.stringMatching(
        /^\| 8 broken host execution_error: HTTP 500: \S*\[2Jconnection refused on the host \S+$/,
      ),
      "| 7: 'forbidden' was denied: 'denied' denies this call",
      "| this says what would allow it:",
      expect.stringMatching(
        /^(npx )?sandgate policy explain --suggest --config \S+sandgate.yaml --call '\{"tool":"forbidden","arguments":\{\}\}'$/,
      ),
      "",
    ]);
    expect(stdout).not.toContain("\u001b");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("with the reason why calls were denied, and what would allow them, which can be run as it is printed", async () => {
    vi.stubEnv("npm_config_user_agent", "npm/11.0.0 node/v26.10.0 linux x64");
    onTestFinished(() => void vi.unstubAllEnvs());
    const policy = `
policy:
  rules:
    - { name: small, tools: [add], when: { /a: { range: { max: 1 } } }, effect: allow, sandboxes: [host] }
    - { name: loud, tools: [upper], effect: ask, question: Is it loud?, sandboxes: [quickjs] }
`;
    const [tools = ""] = String(PROJECT["sandgate.yaml"]).split(/^policy:/m);
    const folder = await createFolder({
      ...PROJECT,
      "sandgate.yaml": `${tools}\n${policy}`,
      "message.json": JSON.stringify([
        { id: "one", name: "add", arguments: '{"a":2,"b":1}' },
        { id: "three", name: "upper", arguments: { text: "a" } },
      ]),
    });
    const [file, config] = [join(folder, "message.json"), join(folder, "sandgate.yaml")];
    const { stdout } = await sandgate(["dispatch", file, "--config", config]);
    const [, call = ""] =
      /^npx sandgate policy explain --suggest --config \S+ --call '(.*)'$/m.exec(stdout) ?? [];
    expect(stdout).toContain("| one: 'add' was denied: no rule allows this call: 'small' would allow it but");
    expect(stdout).toContain(
      `| three: a person has to confirm 'upper': 'Is it loud?': npx sandgate dispatch ${file} --confirm asks you\n`,
    );
    const explained = await sandgate(["policy", "explain", "--suggest", "--call", call, "--config", config]);
    expect(explained.stdout).toContain("to allow the call: The rule 'small' nearly allows the call");
  });

  test("in full, even if they are large", async () => {
    const add = 'export const add = ({ a, b }) => "x".repeat(a * b);';
    const files = { "tools/host.mjs": `${add} export const wait = add, broken = add;` };
    const { code, stdout } = await dispatch([{ id: "1", name: "add", arguments: { a: 1_000, b: 500 } }], {
      args: ["--output", "json"],
      files,
    });
    expect(JSON.parse(stdout).executions[0].output).toBe("x".repeat(500_000));
    expect(code).toBe(0);
  });

  test("of a free-form tool, whose input is the model's text", async () => {
    const config = `tools:
  - name: measure
    description: Measures a text
    freeform: true
    quickjs: { source: "export default (text) => text.length" }
policy: { rules: [{ tools: [measure], effect: allow, sandboxes: [quickjs] }] }
`;
    const custom = { name: "measure", input: '{"a": ' };
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "custom", custom }],
    };
    const { code, stdout } = await dispatch(
      { choices: [{ message }] },
      { args: ["--output", "json"], files: { "sandgate.yaml": config } },
    );
    expect(JSON.parse(stdout).executions).toMatchObject([{ arguments: custom.input, output: 6 }]);
    expect(code).toBe(0);
  });

  test("as JSON", async () => {
    const { code, stdout } = await dispatch(CALLS, { args: ["--output", "json"] });
    const { executions } = JSON.parse(stdout);
    expect(executions).toHaveLength(CALLS.length);
    expect(executions[0]).toMatchObject({ callId: "1", toolName: "add", success: true, output: 3 });
    expect(executions[7]).toMatchObject({
      callId: "8",
      success: false,
      error: { code: "execution_error", effect: "unknown" },
    });
    expect(code).toBe(0);
  });

  test("as the messages that go back to OpenAI, for a whole chat completion", async () => {
    const call = { id: "call_1", type: "function", function: { name: "add", arguments: '{ "a":1,"b":2}' } };
    const completion = { choices: [{ message: { role: "assistant", content: null, tool_calls: [call] } }] };
    const { stdout } = await dispatch(completion, { args: ["--format", "openai", "--output", "messages"] });
    expect(JSON.parse(stdout)).toEqual([
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "3" },
    ]);
  });

  test("as the messages that go back to Anthropic", async () => {
    const use = { type: "tool_use", id: "toolu_1", name: "forbidden", input: {} };
    const message = { role: "assistant", content: [{ type: "text", text: "So." }, use] };
    const { stdout } = await dispatch(message, { args: ["--format", "anthropic", "--output", "messages"] });
    const text = "Permission denied: tool 'forbidden' is disabled by policy";
    expect(JSON.parse(stdout)).toEqual([
      { role: "assistant", content: [{ type: "text", text: "So." }, use] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text }], is_error: true },
        ],
      },
    ]);
  });

  test("without running the calls of a message that was cut off, which it says", async () => {
    const call = (id: string, args: string): object => ({
      id,
      type: "function",
      function: { name: "add", arguments: args },
    });
    const tool_calls = [call("1", '{"a":1,"b":2}'), call("2", '{"a":1')];
    const completion = { choices: [{ message: { role: "assistant", tool_calls }, finish_reason: "length" }] };
    const { code, stdout, stderr } = await dispatch(completion, { args: ["--output", "json"] });
    expect(JSON.parse(stdout).executions).toMatchObject([
      { callId: "1", error: { code: "cancelled", effect: "none" } },
    ]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: "sandgate: the message was cut off (length), so its calls do not run\n",
    });
  });

  test("and tells of the calls that do not run here", async () => {
    const tool_calls = [{ id: "1", type: "custom", custom: { name: "grammar", input: "x" } }];
    const { stderr } = await dispatch({ choices: [{ message: { role: "assistant", tool_calls } }] });
    expect(stderr).toBe("sandgate: the message has calls that do not run here: custom\n");
  });

  test("for a message without calls, too", async () => {
    const { code, stdout } = await dispatch({ role: "assistant", toolCalls: [] });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "The message has no tool calls.\n" });
  });
});

describe("sandgate dispatch detects the format, and answers in it, of", () => {
  const input = { a: 1, b: 2 };
  const args = '{"a": 1, "b": 2}';
  const chat = { id: "1", type: "function", function: { name: "add", arguments: args } };
  const toolUse = { type: "tool_use", id: "1", name: "add", input };
  const item = { type: "function_call", call_id: "1", name: "add", arguments: args };
  const part = { type: "tool-call", toolCallId: "1", toolName: "add", input };
  const lines = (...events: object[]): string => events.map((event) => JSON.stringify(event)).join("\n");
  const data = (...events: object[]): string =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const result = { callId: "1", toolName: "add", content: [{ type: "text", text: "3" }], isError: false };

  test.each<[string, unknown, unknown]>([
    ["native", [{ id: "1", name: "add", arguments: input }], { role: "tool", results: [result] }],
    [
      "native, a stream",
      lines(...["1", "2"].map((id) => ({ id, name: "add", arguments: input }))),
      { role: "tool", results: [result, { ...result, callId: "2" }] },
    ],
    [
      "native, a stream of one call",
      { id: "1", name: "add", arguments: input },
      { role: "tool", results: [result] },
    ],
    [
      "OpenAI Chat",
      { choices: [{ message: { role: "assistant", tool_calls: [chat] } }] },
      { role: "tool", tool_call_id: "1", content: "3" },
    ],
    [
      "OpenAI Chat, a stream",
      `${data(
        { choices: [{ delta: { content: "So.", tool_calls: [{ index: 0, ...chat }] } }] },
        { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
      )}data: [DONE]\n`,
      { role: "tool", tool_call_id: "1", content: "3" },
    ],
    [
      "OpenAI Responses",
      { object: "response", output: [item] },
      { type: "function_call_output", call_id: "1", output: "3" },
    ],
    ["OpenAI Responses, its items", [item], { type: "function_call_output", call_id: "1", output: "3" }],
    [
      "OpenAI Responses, a stream",
      data(
        { type: "response.created" },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed" },
      ),
      { type: "function_call_output", call_id: "1", output: "3" },
    ],
    [
      "Anthropic",
      { role: "assistant", content: [toolUse] },
      { role: "user", content: [expect.objectContaining({ tool_use_id: "1", is_error: false })] },
    ],
    [
      "Anthropic, a stream",
      data(
        { type: "content_block_start", index: 0, content_block: toolUse },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "tool_use" } },
        { type: "message_stop" },
      ),
      { role: "user", content: [expect.objectContaining({ tool_use_id: "1", is_error: false })] },
    ],
    [
      "AI SDK",
      { role: "assistant", content: [{ type: "text", text: "So." }, part] },
      {
        role: "tool",
        content: [expect.objectContaining({ toolCallId: "1", output: { type: "text", value: "3" } })],
      },
    ],
    [
      "AI SDK, a stream",
      lines({ type: "tool-input-start", id: "1", toolName: "add" }, part, { type: "finish" }),
      { role: "tool", content: [expect.objectContaining({ toolCallId: "1" })] },
    ],
    [
      "Google",
      {
        candidates: [{ content: { role: "model", parts: [{ functionCall: { name: "add", args: input } }] } }],
      },
      { role: "user", parts: [{ functionResponse: { name: "add", response: { output: "3" } } }] },
    ],
    [
      "Cohere",
      { message: { role: "assistant", tool_plan: "So.", tool_calls: [chat] } },
      { role: "tool", tool_call_id: "1", content: "3" },
    ],
    [
      "Bedrock",
      { role: "assistant", content: [{ toolUse: { toolUseId: "1", name: "add", input } }] },
      {
        role: "user",
        content: [{ toolResult: { toolUseId: "1", content: [{ text: "3" }], status: "success" } }],
      },
    ],
  ])("%s", async (_, message, answer) => {
    const folder = await createFolder(PROJECT);
    const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--output", "messages"];
    const stdin = typeof message === "string" ? message : JSON.stringify(message);
    const { stdout, stderr } = await sandgate(argv, { stdin });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout).at(-1)).toEqual(answer);
  });
});

test("reads the message from standard input", async () => {
  const folder = await createFolder(PROJECT);
  const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--output", "json"];
  const { stdout } = await sandgate(argv, { stdin: JSON.stringify(CALLS.slice(0, 1)) });
  expect(JSON.parse(stdout).executions[0]).toMatchObject({ callId: "1", output: 3 });
});

test("sends the calls of a remote tool to its server", async () => {
  const server = createServer((request, response) => {
    request.setEncoding("utf8");
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ echo: JSON.parse(body).arguments }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const config = `
tools:
  - name: echo
    description: Echoes
    inputSchema: { type: object }
    remote: { url: "http://127.0.0.1:${port}/echo" }
policy: { rules: [{ tools: [echo], effect: allow, sandboxes: [remote] }] }
`;
  const files = { "sandgate.yaml": config };
  const { stdout } = await dispatch([{ id: "1", name: "echo", arguments: { x: 1 } }], {
    files,
    args: ["--output", "json"],
  });
  expect(JSON.parse(stdout).executions).toMatchObject([{ sandbox: "remote", output: { echo: { x: 1 } } }]);
});

test("cancels the running and remaining calls if the user interrupts, and prints their results", async () => {
  const interruption = new AbortController();
  const wait = { id: "1", name: "wait", arguments: {} };
  const started = `
export const wait = (input, { signal }) => {
  setImmediate(globalThis.onWaiting);
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
};
export const add = () => 0;
export const broken = add;
`;
  Object.assign(globalThis, { onWaiting: () => interruption.abort() });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, "onWaiting"));
  const { code, stdout } = await dispatch([wait, { ...wait, id: "2" }], {
    files: { "tools/host.mjs": started },
    args: ["--output", "json"],
    signal: interruption.signal,
  });
  expect(JSON.parse(stdout).executions).toMatchObject([
    { callId: "1", sandbox: "host", error: { code: "cancelled" } },
    { callId: "2", sandbox: null, error: { code: "cancelled", effect: "none" } },
  ]);
  expect(code).toBe(130);
});

test("stops waiting for a message if the user interrupts", async () => {
  const folder = await createFolder(PROJECT);
  const signal = AbortSignal.timeout(50);
  const endless = new PassThrough();
  const outcome = await sandgate(["dispatch", "--config", join(folder, "sandgate.yaml")], {
    stdin: endless,
    signal,
  });
  expect(outcome).toEqual({ code: 130, stdout: "", stderr: "" });
});

describe("sandgate dispatch refuses, with the position,", () => {
  async function refused(text: string | Buffer, ...args: string[]): Promise<string> {
    const folder = await createFolder(PROJECT);
    const argv = ["dispatch", "-", "--config", join(folder, "sandgate.yaml"), ...args];
    const { code, stdout, stderr } = await sandgate(argv, { stdin: text });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    return stderr;
  }

  test.each([
    ["nothing", "", "<stdin>:1:1: invalid JSON: unexpected end\n"],
    ["broken JSON", '[\n  {"id": "1",\n  "name": x}\n]', "<stdin>:3:11: invalid JSON: unexpected token\n"],
    [
      "a text that is not a message",
      "7",
      "<stdin>:1:1: unrecognised message format: --format takes native, openai, ",
    ],
    [
      "a message that matches several formats",
      '{"role": "assistant", "content": "Hi"}',
      "<stdin>:1:1: the message matches several formats (openai, anthropic, ai-sdk): choose one with --format\n",
    ],
    [
      "a stream that breaks off",
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"add"}}\n\n',
      "<stdin>:1:1: the message ends inside a call, without its 'message_stop'\n",
    ],
    [
      "a stream that breaks off between two blocks",
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So."}}\n\n',
      "<stdin>:1:1: the message ends without its 'message_stop'\n",
    ],
    [
      "a stream with an event of the wrong shape",
      '{"choices":[{"delta":{}}]}\n{"choices":7}\n',
      "<stdin>:1:1: event 2: /choices must be a list\n",
    ],
    ["an unknown stream", '{"a":1}\n{"b":2}\n', "<stdin>:1:1: unrecognised message format: "],
    [
      "a call of the wrong shape",
      '[\n  { "id": "1",\n    "name": 7, "arguments": {} }\n]',
      "<stdin>:3:13: /0/name must be a string\n",
    ],
    [
      "a call without an id, at the call",
      '[\n  { "name": "add", "arguments": {} }\n]',
      "<stdin>:2:3: /0/id must be a string\n",
    ],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22]), "<stdin>:1:1: the message is not valid UTF-8"],
  ])("%s", async (_, text, message) => {
    expect(await refused(text)).toContain(message);
  });

  test("a message that is nested too deeply", async () => {
    const deep = `[\n${"[".repeat(100_000)}"[[[\\""${"]".repeat(100_000)}]`;
    expect(await refused(deep)).toBe("<stdin>:2:512: nested deeper than 512 levels\n");
  });

  test("a message in another format than --format", async () => {
    expect(await refused('{"role": "assistant", "content": {}}', "--format", "anthropic")).toBe(
      "<stdin>:1:34: /content must be a list\n",
    );
  });

  test("a missing file", async () => {
    const folder = await createFolder(PROJECT);
    const file = join(folder, "none.json");
    const { code, stderr } = await sandgate(["dispatch", file, "--config", join(folder, "sandgate.yaml")]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `${file}:1:1: the file cannot be read: no such file or directory\n`,
    });
  });
});

test("fails a call with forbidden arguments, and runs the others", async () => {
  const folder = await createFolder(PROJECT);
  const argv = ["dispatch", "--config", join(folder, "sandgate.yaml"), "--output", "json"];
  const hostile = '{"id":"hostile","name":"add","arguments":{"__proto__":{"a":1}}}';
  const { code, stdout } = await sandgate(argv, { stdin: `[${hostile},${JSON.stringify(CALLS[0])}]` });
  expect(JSON.parse(stdout).executions).toMatchObject([
    { success: false, error: { code: "validation_error" } },
    { success: true, output: 3 },
  ]);
  expect(code).toBe(0);
});

test("runs nothing if the config has an error", async () => {
  const files = { "policy.yaml": "rules:\n  - { tools: [add], effect: permit }\n" };
  const { code, stdout, stderr } = await dispatch(CALLS, { files });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/policy\.yaml:2:29: must be one of allow, deny, ask/);
});

test("runs despite a warning, and prints it", async () => {
  const rules = `${PROJECT["policy.yaml"]}  - { tools: [delete_all], effect: deny }\n`;
  const { code, stderr } = await dispatch(CALLS.slice(0, 1), { files: { "policy.yaml": rules } });
  expect(code).toBe(0);
  expect(stderr).toMatch(/policy\.yaml:6:15: warning: 'delete_all' matches no registered tool/);
});
