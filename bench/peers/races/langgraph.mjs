// LangGraph JS: `interrupt()` in a tool, `Command({ resume })`, and a checkpointer.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";

const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };

const shared = {
  package: "@langchain/langgraph",
  keepsState: true,
  missing: {
    always: "`interrupt()` does not remember answers",
    deny: "`interrupt()` asks; there is no policy",
    resend: "a thread is resumed from its checkpoint without the calls being handed over again",
  },
};

export const variants = [
  { ...shared, name: "LangGraph v1", open: (host) => open(host, "v1") },
  { ...shared, name: "LangGraph v2", open: (host) => open(host, "v2") },
];

function open(host, version) {
  const graph = createReactAgent({
    llm: new ScriptedModel(host),
    tools: toolsOf(host),
    checkpointer: new Saver(host),
    version,
  });
  const config = { configurable: { thread_id: host.session } };
  const invoke = async (input) => {
    const { __interrupt__: interrupts = [] } = await graph.invoke(input, config);
    return { state: "", pending: interrupts.map(({ id, value }) => ({ id, ...value })) };
  };
  return {
    /** After a restart, this goes on where the checkpoint is. */
    start: async () => {
      const { next, values } = await graph.getState(config);
      if (next.length > 0) return invoke(null);
      if (values.messages === undefined) return invoke({ messages: [{ role: "user", content: "go" }] });
      return { state: "", pending: [] };
    },
    resume: (_state, answers) => {
      const given = answers.map(({ id, isAllowed, arguments: args }) => [id, { isAllowed, arguments: args }]);
      return invoke(given.length > 0 ? new Command({ resume: Object.fromEntries(given) }) : null);
    },
  };
}

function toolsOf(host) {
  const write = async (input, { toolCall }) => {
    const answer = interrupt({ callId: toolCall.id, arguments: input });
    if (!answer.isAllowed) return "rejected";
    return JSON.stringify(await host.run("write", toolCall.id, answer.arguments ?? input));
  };
  const read = async (input, { toolCall }) => JSON.stringify(await host.run("read", toolCall.id, input));
  return [
    tool(write, { name: "write", description: host.definition, schema: PARAMETERS }),
    tool(read, { name: "read", description: host.definition, schema: PARAMETERS }),
  ];
}

/** A saver whose content outlives the process. */
class Saver extends MemorySaver {
  #host;

  constructor(host) {
    super();
    this.#host = host;
    host.disk.storage ??= this.storage;
    host.disk.writes ??= this.writes;
    this.storage = host.disk.storage;
    this.writes = host.disk.writes;
  }

  async put(...args) {
    await this.#host.beforeWrite();
    return super.put(...args);
  }

  async putWrites(...args) {
    await this.#host.beforeWrite();
    return super.putWrites(...args);
  }
}

class ScriptedModel extends BaseChatModel {
  #host;

  constructor(host) {
    super({});
    this.#host = host;
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const calls = this.#host.nextCalls(messages.flatMap((message) => message.tool_calls ?? []).length);
    const tool_calls = calls?.map(({ id, name, arguments: args }) => ({ id, name, args, type: "tool_call" }));
    const message = new AIMessage({
      content: calls === undefined ? "done" : "",
      tool_calls: tool_calls ?? [],
    });
    return { generations: [{ text: "", message }] };
  }
}
