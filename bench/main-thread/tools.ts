import { ToolRegistry } from "../../src/engine/registry.ts";
import { anthropicMessagesProtocol, openAiChatProtocol } from "../../src/entry/protocols.ts";
import { readListedTools } from "../../src/mcp/import/listed-tool.ts";
import { listedTools } from "../../src/mcp/server/tool-handlers.ts";
import type { ProviderProtocol } from "../../src/protocols/protocol.ts";
import type { Session } from "../../src/sessions/session.ts";
import type { StallCase } from "./turn-meter.ts";

const COUNT = 10_000;

const toolAt = (index: number, name = `tool_${index}`) => ({
  name,
  description: `Does what the number ${index} says.`,
  host: () => null,
  inputSchema: {
    type: "object",
    properties: { path: { type: "string", description: `path ${index}` }, mode: { enum: ["a", "b"] } },
    required: ["path"],
  },
});

function registryOf(nameOf?: (index: number) => string): ToolRegistry {
  const registry = new ToolRegistry();
  for (let index = 0; index < COUNT; index++) registry.register(toolAt(index, nameOf?.(index)));
  return registry;
}

/** A server may list more tools than are imported. */
const listedBy = (name: string, nameOf: (index: number) => string): StallCase => ({
  name: `an MCP server that lists 20,000 ${name}`,
  prepare: () => {
    const inputSchema = { type: "object" };
    const listed = Array.from({ length: 20_000 }, (_, index) => ({ name: nameOf(index), inputSchema }));
    return () => readListedTools("server", listed);
  },
});

const aliases = (name: string, nameOf?: (index: number) => string): StallCase => ({
  name: `aliases for a provider of 10,000 tools with ${name}`,
  prepare: () => {
    const registry = registryOf(nameOf);
    return () => openAiChatProtocol(registry);
  },
});

/** Their schemas were fitted before: see SECURITY.md. */
const offered = (name: string, protocolOf: (registry: ToolRegistry) => ProviderProtocol): StallCase => ({
  name: `what a model is offered of 10,000 tools by ${name}`,
  prepare: () => {
    const protocol = protocolOf(registryOf());
    protocol.toTools();
    return () => protocol.toTools();
  },
});

export const cases: readonly StallCase[] = [
  {
    name: "registering each of 300 tools, which are not compiled before they are called",
    prepare: () => () => {
      const registry = new ToolRegistry();
      for (let index = 0; index < 300; index++) registry.register(toolAt(index));
    },
  },
  {
    name: "the list of 10,000 tools for a client of MCP",
    prepare: () => {
      const session = { registry: registryOf(), mayCall: () => true } as unknown as Session;
      return () => listedTools(session, { isModern: true, listsAll: false });
    },
  },
  {
    name: "the list of 10,000 tools from an MCP server",
    prepare: () => {
      const listed = Array.from({ length: COUNT }, (_, index) => {
        const { name, description, inputSchema } = toolAt(index);
        return { name, description, inputSchema };
      });
      return () => readListedTools("server", listed);
    },
  },
  listedBy("different tools", (index) => `tool-${index}`),
  listedBy("tools of the same name", () => "tool"),
  aliases("names that providers accept"),
  aliases("other names", (index) => `${index}.tool`),
  offered("OpenAI", openAiChatProtocol),
  offered("Anthropic", anthropicMessagesProtocol),
];
