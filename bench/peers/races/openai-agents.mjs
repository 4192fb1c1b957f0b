// OpenAI Agents JS: `needsApproval`, interruptions, and a `RunState` that is stored as text.
import { Agent, Runner, RunState, setTracingDisabled, tool, Usage } from "@openai/agents";

setTracingDisabled(true);

const PARAMETERS = {
  type: "object",
  properties: { path: { type: "string" } },
  required: ["path"],
  additionalProperties: true,
};

export const variants = [
  {
    name: "OpenAI Agents JS",
    package: "@openai/agents",
    missing: {
      edit: "an approval cannot carry other arguments",
      deny: "`needsApproval` asks or does not ask; it cannot deny",
      resend: "a stored `RunState` is resumed without the calls being handed over again",
    },
    open,
  },
];

function open(host) {
  const agent = new Agent({ name: "agent", model: scriptedModel(host), tools: toolsOf(host) });
  const runner = new Runner({ tracingDisabled: true });
  return {
    start: async () => stepOf(await runner.run(agent, "go")),
    resume: async (text, answers) => {
      const state = await RunState.fromString(agent, text);
      for (const { id, isAllowed, isAlways } of answers) {
        const interruption = state.getInterruptions().find(({ rawItem }) => rawItem.callId === id);
        if (interruption === undefined) return { refused: `no interruption has the call id ${id}` };
        if (isAllowed) state.approve(interruption, { alwaysApprove: isAlways });
        else state.reject(interruption);
      }
      return stepOf(await runner.run(agent, state));
    },
  };
}

function toolsOf(host) {
  return ["write", "read"].map((name) =>
    tool({
      name,
      description: host.definition,
      parameters: PARAMETERS,
      strict: false,
      needsApproval: name === "write",
      execute: (input, _context, details) => host.run(name, details.toolCall.callId, input),
    }),
  );
}

function stepOf({ state, interruptions }) {
  return {
    state: state.toString(),
    pending: interruptions.map(({ rawItem }) => ({
      id: rawItem.callId,
      callId: rawItem.callId,
      arguments: JSON.parse(rawItem.arguments),
    })),
  };
}

function scriptedModel(host) {
  return {
    getResponse: async ({ input }) => {
      const items = Array.isArray(input) ? input : [];
      const calls = host.nextCalls(items.filter(({ type }) => type === "function_call").length);
      const output = calls?.map(({ id, name, arguments: args }) => ({
        type: "function_call",
        callId: id,
        name,
        status: "completed",
        arguments: JSON.stringify(args),
      }));
      return { usage: new Usage(), output: output ?? [FINAL] };
    },
    getStreamedResponse: () => {
      throw new Error("not streamed");
    },
  };
}

const FINAL = {
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "done" }],
};
