import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { aiSdkToolSet } from "../../../src/protocols/providers/ai-sdk-tool-set.ts";
import { agentsToolSet } from "../../../src/protocols/providers/openai/agents-tool-set.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { openSessions } from "../../../src/sessions/sessions.ts";

/** Opens a session with a tool that a person is asked about, and the answers that people give in this order. */
async function openSession(...answers: readonly ("allow" | "deny")[]) {
  const sent: string[] = [];
  const registry = new ToolRegistry().register({
    name: "send",
    description: "Sends a text.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    sideEffects: "write",
    host: ({ text }: { text: string }) => {
      sent.push(text);
      return `sent ${text}`;
    },
  });
  const sandboxes = await openSandboxes();
  const resultBudget = { chars: 1_000 };
  const sessions = await openSessions({ registry, policy: new HostPolicy(), sandboxes, resultBudget });
  onTestFinished(async () => {
    await sessions.close();
    await sandboxes.close();
  });
  const asked: string[] = [];
  sessions.onConfirmation((event) => {
    if (event.type !== "requested" || event.confirmation.kind === "question") return;
    const { id, digest, shown } = event.confirmation;
    asked.push(shown.inputSummary.text);
    const decision = answers[asked.length - 1];
    if (decision === undefined) return;
    const reason = decision === "deny" ? { reason: "not on a Sunday" } : {};
    void sessions.answer(id, { decision, digest, by: "ann", ...reason });
  });
  return { session: await sessions.open(), sent, asked };
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const sends = (text: string) =>
  ({ type: "tool-call", toolCallId: text, toolName: "send", input: JSON.stringify({ text }) }) as const;

describe("The tools of a framework, of a turn of a session", () => {
  test("ask a person about each call of AI SDK, and give the model results and reasons", async () => {
    const { session, sent, asked } = await openSession("allow", "deny");
    const model = new MockLanguageModelV4({
      doGenerate: [
        {
          content: [sends("a"), sends("b")],
          finishReason: { unified: "tool-calls", raw: undefined },
          usage,
          warnings: [],
        },
        {
          content: [{ type: "text", text: "done" }],
          finishReason: { unified: "stop", raw: undefined },
          usage,
          warnings: [],
        },
      ],
    });
    const { tools, repairToolCall } = aiSdkToolSet(session.turn({ userText: "Send both." }));
    const options = { model, tools, repairToolCall, prompt: "Send both.", stopWhen: stepCountIs(3) };
    expect((await generateText(options)).text).toBe("done");
    expect(asked).toEqual(['{"text":"a"}', '{"text":"b"}']);
    expect(sent).toEqual(["a"]);
    const results = model.doGenerateCalls[1]?.prompt.find(({ role }) => role === "tool")?.content;
    expect(results).toMatchObject([
      { output: { type: "text", value: "sent a" } },
      { output: { type: "error-text", value: expect.stringContaining("not on a Sunday") } },
    ]);
  });

  test("ask a person about each call of OpenAI Agents", async () => {
    const { session, sent } = await openSession("deny", "allow");
    const [send] = agentsToolSet(session.turn()).tools;
    const details = (callId: string) => ({ toolCall: { callId, arguments: `{"text":"${callId}"}` } });
    expect(await send?.execute({}, undefined, details("a"))).toContain("not on a Sunday");
    expect(await send?.execute({}, undefined, details("b"))).toBe("sent b");
    expect(sent).toEqual(["b"]);
  });

  test("cancel the turn with the framework's signal, even while a person is asked", async () => {
    const { session, sent, asked } = await openSession();
    const turn = session.turn();
    const [send] = agentsToolSet(turn).tools;
    const aborting = new AbortController();
    const details = { toolCall: { callId: "a", arguments: '{"text":"a"}' }, signal: aborting.signal };
    const running = send?.execute({}, undefined, details);
    await expect.poll(() => asked).toHaveLength(1);
    aborting.abort();
    expect(await running).toBe("Tool call was cancelled");
    const late = { toolCall: { callId: "b", arguments: '{"text":"b"}' } };
    expect(await send?.execute({}, undefined, late)).toBe("Tool call was cancelled");
    expect(sent).toEqual([]);
  });

  test("offer what the session can see, and refuse an engine, which would go around the session", async () => {
    const { session } = await openSession();
    const engine = new ToolDispatchEngine();
    expect(Object.keys(aiSdkToolSet(session.turn()).tools)).toEqual(["send"]);
    expect(() => aiSdkToolSet(session.turn(), { engine })).toThrow(/no option 'engine'/);
    expect(() => agentsToolSet(session.turn(), { engine })).toThrow(/no option 'engine'/);
  });
});
