import { type ToolResult, toToolResults } from "../engine/call/messages.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { toWellFormed } from "../json/well-formed.ts";
import { parseMessage } from "./parsing/json.ts";
import { TurnCollector } from "./parsing/turn-collector.ts";
import type { ProviderProtocol, ToolOffer, ToToolsOptions } from "./protocol.ts";
import type { ProviderShape } from "./provider-shape.ts";
import { CallStream } from "./streaming/call-stream.ts";
import { offerStrictTools, offerTools } from "./strict/offer-tools.ts";
import { ToolNames } from "./tool-names.ts";
import type { AssistantTurn } from "./turn.ts";

/** The assistant's text if it has none, and every call of it was aborted. */
const WITHDRAWN_NOTE = "The assistant's tool calls were withdrawn.";

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
  const writeResults = (results: readonly ToolResult[]): readonly Message[] => {
    // Providers reject empty lists.
    if (results.length === 0) return [];
    return toWellFormed(
      shape.writeResults(results.map((result) => ({ ...result, toolName: names.toAlias(result.toolName) }))),
    );
  };

  return Object.freeze({
    toTools({ strict = false }: ToToolsOptions = {}): ToolOffer<Tools> {
      names.refresh();
      const definitions = toWellFormed(registry.definitions());
      const { tools, problems } =
        strict && shape.strict !== undefined
          ? offerStrictTools(definitions, shape.strict)
          : offerTools(definitions);
      return { tools: shape.writeTools(tools.map(toAlias)), problems };
    },

    read(message: unknown): AssistantTurn {
      const turn = new TurnCollector(shape.format);
      turn.stop(shape.readMessage(typeof message === "string" ? parseMessage(message) : message, turn));
      turn.finish();
      turn.end();
      const { text, other, stopReason, cutOff } = turn;
      const calls = turn.take().map((call) => ({ ...call, name: names.toName(call.name) }));
      return { text, calls, other, stopReason, cutOff };
    },

    toAlias: (name) => names.toAlias(name),

    stream: (): CallStream => new CallStream(shape, names),

    toMessages(calls, executions, { text = "" } = {}) {
      const results = toToolResults(calls, executions, "omit");
      const answered = calls.filter((_, index) => executions[index] !== null).map(toAlias);
      // A conversation that did not change would be sent, and answered, in the same way for ever.
      const said = answered.length > 0 || calls.length === 0 || text.trim() !== "" ? text : WITHDRAWN_NOTE;
      if (answered.length === 0 && said.trim() === "") return [];
      return [...toWellFormed(shape.writeTurn(answered, said)), ...writeResults(results)];
    },

    toResults: (calls, executions, { aborted = "result" } = {}) =>
      writeResults(toToolResults(calls, executions, aborted)),
  } satisfies ProviderProtocol<Tools, Message>);
}
