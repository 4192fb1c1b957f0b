// Vercel's AI SDK: `toolApproval`, and a history of messages to which approval responses are added.
import {
  generateText,
  InvalidToolApprovalError,
  InvalidToolApprovalSignatureError,
  isStepCount,
  jsonSchema,
  ToolCallNotFoundForApprovalError,
  tool,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";

const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const REFUSALS = [
  InvalidToolApprovalError,
  InvalidToolApprovalSignatureError,
  ToolCallNotFoundForApprovalError,
];

const shared = {
  package: "ai",
  takesAnswersTogether: true,
  missing: {
    edit: "an approval response cannot carry another input",
    always: "an approval response is about one call",
  },
};

export const variants = [
  { ...shared, name: "AI SDK", open: (host) => open(host, {}) },
  {
    ...shared,
    name: "AI SDK, signed",
    open: (host) => open(host, { experimental_toolApprovalSecret: "a secret of the race bench" }),
  },
];

function open(host, settings) {
  const generate = async (messages) => {
    const result = await generateText({
      model: scriptedModel(host),
      tools: toolsOf(host),
      messages,
      stopWhen: isStepCount(10),
      maxRetries: 0,
      toolApproval: { write: () => (host.isDenied() ? "denied" : "user-approval") },
      ...settings,
    });
    return stepOf([...messages, ...result.responseMessages], result.content);
  };
  return {
    start: () => generate([{ role: "user", content: "go" }]),
    resume: async (text, answers) => {
      const content = answers.map(({ id, isAllowed }) => ({
        type: "tool-approval-response",
        approvalId: id,
        approved: isAllowed,
      }));
      try {
        return await generate([...JSON.parse(text), { role: "tool", content }]);
      } catch (error) {
        if (REFUSALS.some((type) => type.isInstance(error))) return { refused: error.message };
        throw error;
      }
    },
    /** The caller sends the history with each request. */
    handOver: (text, calls) => {
      const messages = JSON.parse(text);
      const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
      const given = parts.filter(({ type }) => type === "tool-call");
      for (const [index, part] of given.entries()) part.input = calls[index].arguments;
      return JSON.stringify(messages);
    },
  };
}

function toolsOf(host) {
  const entries = ["write", "read"].map((name) => [
    name,
    tool({
      description: host.definition,
      inputSchema: jsonSchema(PARAMETERS),
      execute: (input, { toolCallId }) => host.run(name, toolCallId, input),
    }),
  ]);
  return Object.fromEntries(entries);
}

function stepOf(messages, content) {
  const requests = content.filter(
    ({ type, isAutomatic }) => type === "tool-approval-request" && !isAutomatic,
  );
  return {
    state: JSON.stringify(messages),
    pending: requests.map(({ approvalId, toolCall }) => ({
      id: approvalId,
      callId: toolCall.toolCallId,
      arguments: toolCall.input,
    })),
  };
}

function scriptedModel(host) {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const parts = prompt.flatMap(({ role, content }) => (role === "assistant" ? content : []));
      const calls = host.nextCalls(parts.filter(({ type }) => type === "tool-call").length);
      const content = calls?.map(({ id, name, arguments: args }) => ({
        type: "tool-call",
        toolCallId: id,
        toolName: name,
        input: JSON.stringify(args),
      }));
      const reason = calls === undefined ? "stop" : "tool-calls";
      return {
        content: content ?? [{ type: "text", text: "done" }],
        finishReason: { unified: reason, raw: reason },
        usage: USAGE,
        warnings: [],
      };
    },
  });
}
