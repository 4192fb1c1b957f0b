import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defineTool } from "../../src/engine/tool.ts";
import type { AgentCapabilities } from "../../src/policy/agent-capabilities.ts";
import { ask, deny } from "../../src/policy/policy.ts";
import { ToolFailure } from "../../src/tool/tool-failure.ts";
import { type Played, SupervisorScene } from "./scene.ts";

type Options = Parameters<typeof SupervisorScene.open>[0];

const echo = { tool: "Echo", args: { text: "x" } };
const EVERYTHING = { tools: ["*"] };

const hanging = defineTool({
  name: "hanging",
  description: "Never ends.",
  inputSchema: { type: "object" },
  timeoutMs: 100,
  host: () => new Promise(() => {}),
});
const flooding = defineTool({
  name: "flooding",
  description: "Returns 3 MiB.",
  inputSchema: { type: "object" },
  host: () => "x".repeat(3 * 1_024 * 1_024),
});
const refusing = defineTool({
  name: "refusing",
  description: "Throws an error with a code.",
  inputSchema: { type: "object" },
  host: () => {
    throw new ToolFailure("permission_denied", "the server refused it", { effect: "none" });
  },
});
/** Declares a path, and a URL. Its schema is checked after both. */
const sending = defineTool({
  name: "sending",
  description: "Sends a file.",
  sideEffects: "network",
  usesFiles: true,
  paths: [{ argument: "/path", access: "read" }],
  urls: [{ argument: "/url" }],
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, url: { type: "string" }, times: { type: "integer" } },
    required: ["times"],
  },
  host: () => "sent",
});

async function openScene(options: Options = {}): Promise<SupervisorScene> {
  const scene = await SupervisorScene.open(options);
  onTestFinished(() => scene[Symbol.asyncDispose]());
  for (const tool of [hanging, flooding, refusing, sending]) scene.registry.register(tool);
  return scene;
}

/** Has an agent make calls, each when the one before it is answered. */
const play = (
  scene: SupervisorScene,
  calls: readonly object[],
  capabilities: AgentCapabilities,
): Promise<Played> => scene.play(`calls=${JSON.stringify(calls)}`, capabilities);

test("whatever a tool does once it runs is tool_failed, the message says what, and the next call works", async () => {
  const scene = await openScene();
  const missing = { tool: "Read", args: { path: join(scene.granted, "missing.txt") } };
  const calls = [...["hanging", "flooding", "refusing"].map((tool) => ({ tool, args: {} })), missing, echo];
  const { end, answers } = await play(scene, calls, {
    ...EVERYTHING,
    fs: [{ directory: scene.granted }],
  });
  expect(answers.map(({ error }) => error)).toEqual([...Array(4).fill("tool_failed"), undefined]);
  const messages = answers.map(({ message }) => message);
  expect(messages[0]).toContain("100");
  expect(messages.slice(1, 3)).toEqual([
    "The result is longer than 2 MiB, the most of one line: ask for less",
    "the server refused it",
  ]);
  expect(messages[3]).toContain("no such file");
  expect(end).toEqual({ code: 0 });
});

test.each([
  ["the policy denies it", { policy: { check: () => deny("not today") } }, "disabled by policy"],
  [
    "a person denies it",
    { confirm: async () => ({ decision: "deny", by: "eve" }) as const },
    "User denied this operation.",
  ],
  [
    "no person answers in time",
    { confirm: async () => ({ decision: "timeout", afterMs: 300_000 }) as const },
    "Nobody confirmed",
  ],
  ["no person can be asked", {}, "Permission denied"],
])("a call is permission_denied if %s, for the agent and in the journal", async (_why, options, message) => {
  const policy = {
    check: () => ask("May it?", { grant: { sandbox: "host", limits: {}, capabilities: {} } }),
  };
  const scene = await openScene({ policy, ...options });
  const { answers, records } = await play(scene, [echo], EVERYTHING);
  expect(answers).toMatchObject([
    { ok: false, error: "permission_denied", message: expect.stringContaining(message) },
  ]);
  expect(records.filter(({ type }) => String(type).startsWith("tool.call"))).toMatchObject([
    { type: "tool.call.denied", slug: "permission_denied", tool: "Echo", args: { text: "x" } },
  ]);
});

test("the tool is checked before its paths, these before its URLs, and these before the schema", async () => {
  const scene = await openScene();
  const [path, url] = [join(scene.granted, "a.txt"), "https://api.example.com/v1?q=1"];
  const wrong = { path: "/etc/passwd", url: "https://example.org" };
  const capabilities = {
    tools: ["sending"],
    fs: [{ directory: scene.granted }],
    net: ["https://api.example.com"],
  };
  const send = async (args: object, held: AgentCapabilities): Promise<unknown> => {
    const { answers } = await play(scene, [{ tool: "sending", args }], held);
    return [answers[0]?.error, answers[0]?.message ?? answers[0]?.result];
  };
  expect(await send(wrong, { ...capabilities, tools: ["Echo"] })).toEqual([
    "permission_denied",
    "Permission denied: tool 'sending' is disabled by policy",
  ]);
  expect(await send(wrong, capabilities)).toEqual([
    "fs_denied",
    "Permission denied: reading this path is not among your capabilities",
  ]);
  expect(await send({ path, url: wrong.url }, capabilities)).toEqual([
    "permission_denied",
    "Permission denied: requests to this server are not among your capabilities",
  ]);
  expect(await send({ path, url }, capabilities)).toEqual(["invalid_args", expect.stringContaining("times")]);
  expect(await send({ path, url, times: 1 }, capabilities)).toEqual([undefined, "sent"]);
});
