import { buildToolResultMessages } from "../engine/call/messages.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { checkCallCount } from "./parsing/limits.ts";
import type { AssistantTurn, ProviderProtocol, ToolOffer, ToToolsOptions } from "./protocol.ts";
import type { ProviderShape } from "./provider-shape.ts";
import { CallStream } from "./streaming/call-stream.ts";
import { offerStrictTools, offerTools } from "./strict/offer-tools.ts";
import { ToolNames } from "./tool-names.ts";

/** Creates a protocol from a provider's shape and the tools of a registry. */
export function createProtocol<Tools, Message>(
  shape: ProviderShape<Tools, Message>,
  registry: ToolRegistry<never>,
): ProviderProtocol<Tools, Message> {
  const names = new ToolNames(registry, shape.takesAnyName ? /^/ : undefined);
  const toAlias = <Named extends { readonly name: string }>(named: Named): Named => ({
    ...named,
    name: names.toAlias(named.name),
  });
  const toResults: ProviderProtocol<Tools, Message>["toResults"] = (calls, executions) => {
    const [, { results }] = buildToolResultMessages(calls, executions);
    // Providers reject empty lists.
    if (results.length === 0) return [];
    return shape.writeResults(
      results.map((result) => ({ ...result, toolName: names.toAlias(result.toolName) })),
    );
  };

  return Object.freeze({
    toTools({ strict = false }: ToToolsOptions = {}): ToolOffer<Tools> {
      names.refresh();
      const definitions = registry.definitions();
      const { tools, problems } =
        strict && shape.strict !== undefined
          ? offerStrictTools(definitions, shape.strict)
          : offerTools(definitions);
      return { tools: shape.writeTools(tools.map(toAlias)), problems };
    },

    read(message: unknown): AssistantTurn {
      const { text, calls } = shape.readMessage(message);
      checkCallCount(calls.length);
      return { text, calls: calls.map((call) => ({ ...call, name: names.toName(call.name) })) };
    },

    stream: (): CallStream => new CallStream(shape, names),

    toMessages(calls, executions, { text = "" } = {}) {
      const [{ toolCalls }] = buildToolResultMessages(calls, executions);
      if (toolCalls.length === 0) return [];
      return [...shape.writeTurn(toolCalls.map(toAlias), text), ...toResults(calls, executions)];
    },

    toResults,
  } satisfies ProviderProtocol<Tools, Message>);
}
