import { type ToolResult, toToolResults } from "../engine/call/messages.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { toWellFormed } from "../json/well-formed.ts";
import { CallMapper } from "./call-mapper.ts";
import { withObjectInput } from "./freeform.ts";
import { parseMessage } from "./parsing/json.ts";
import { TurnCollector } from "./parsing/turn-collector.ts";
import type { ProviderProtocol, ToolOffer, ToToolsOptions } from "./protocol.ts";
import type { ProviderShape } from "./provider-shape.ts";
import { CallStream } from "./streaming/call-stream.ts";
import { offerStrictTools, offerTools } from "./strict/offer-tools.ts";
import { ToolNames } from "./tool-names.ts";
import type { AssistantTurn, TurnCall } from "./turn.ts";
import { writtenTurn } from "./written-turn.ts";

/** The assistant's text if it has none, and every call of it was aborted. */
const WITHDRAWN_NOTE = "The assistant's tool calls were withdrawn.";

/** Creates a protocol from a provider's shape and the tools of a registry. */
export function createProtocol<Tools, Message>(
  shape: ProviderShape<Tools, Message>,
  registry: ToolRegistry<never>,
): ProviderProtocol<Tools, Message> {
  const names = new ToolNames(registry, shape.takesAnyName ? /^/ : undefined);
  const mapper = new CallMapper(registry, names, shape.takesText === true);
  const writeResults = (calls: readonly TurnCall[], results: readonly ToolResult[]): readonly Message[] => {
    // Providers reject empty lists.
    if (results.length === 0) return [];
    const aliased = results.map((result) => ({ ...result, toolName: names.toAlias(result.toolName) }));
    const custom = new Set(calls.filter((call) => call.custom).map(({ id }) => id));
    return toWellFormed(shape.writeResults(aliased, custom));
  };

  return Object.freeze({
    toTools({ strict = false, customTools = true }: ToToolsOptions = {}): ToolOffer<Tools> {
      names.refresh();
      const own = toWellFormed(registry.definitions());
      const definitions = shape.takesText && customTools ? own : own.map(withObjectInput);
      const { tools, problems } =
        strict && shape.strict !== undefined
          ? offerStrictTools(definitions, shape.strict)
          : offerTools(definitions);
      const aliased = tools.map((tool) => ({ ...tool, name: names.toAlias(tool.name) }));
      return { tools: shape.writeTools(aliased), problems };
    },

    read(message: unknown): AssistantTurn {
      const turn = new TurnCollector(shape.format, (alias) => mapper.isFreeform(alias));
      turn.stop(shape.readMessage(typeof message === "string" ? parseMessage(message) : message, turn));
      turn.finish();
      turn.end();
      const { text, other, stopReason, cutOff } = turn;
      const calls = turn.take().map((call) => mapper.fromProvider(call));
      const { providerData } = turn;
      return { text, calls, other, stopReason, cutOff, ...(providerData && { providerData }) };
    },

    toAlias: (name) => names.toAlias(name),

    stream: (): CallStream => new CallStream(shape, mapper),

    toMessages(calls, executions, said = {}) {
      const { text = "" } = said;
      const results = toToolResults(calls, executions, "omit");
      const answered = calls.filter((_, index) => executions[index] !== null);
      // A conversation that did not change would be sent, and answered, in the same way for ever.
      const told = answered.length > 0 || calls.length === 0 || text.trim() !== "" ? text : WITHDRAWN_NOTE;
      if (answered.length === 0 && told.trim() === "") return [];
      const turn = shape.writeTurn(
        writtenTurn(calls, answered, told, said, (call) => mapper.toProvider(call)),
      );
      return [...toWellFormed(turn), ...writeResults(calls, results)];
    },

    toResults: (calls, executions, { aborted = "result" } = {}) =>
      writeResults(calls, toToolResults(calls, executions, aborted)),
  } satisfies ProviderProtocol<Tools, Message>);
}
