import { type ToolResult, toToolResults } from "../engine/call/messages.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { toWellFormed } from "../json/well-formed.ts";
import { CallMapper } from "./call-mapper.ts";
import { DEMANDS } from "./demands/demands.ts";
import { ToolFits } from "./demands/tool-fits.ts";
import { wireIds } from "./demands/wire-ids.ts";
import { withObjectInput } from "./freeform.ts";
import { parseMessage } from "./parsing/json.ts";
import { TurnCollector } from "./parsing/turn-collector.ts";
import type { ProviderProtocol, ToolOffer, ToToolsOptions } from "./protocol.ts";
import type { ProviderShape } from "./provider-shape.ts";
import { CallStream } from "./streaming/call-stream.ts";
import { offerTools } from "./strict/offer-tools.ts";
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
  const demands = shape.format === "native" ? undefined : DEMANDS[shape.format];
  const fits = new ToolFits(registry, demands?.schema);
  const mapper = new CallMapper(registry, names, fits, shape.takesText === true);
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
      const subset = strict ? shape.strict : undefined;
      const { tools, problems } = offerTools(definitions, {
        demands,
        subset,
        fitOf: (name) => fits.of(name),
      });
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
      const ids = wireIds(answered, demands);
      // A conversation that did not change would be sent, and answered, in the same way for ever.
      const told = answered.length > 0 || calls.length === 0 || text.trim() !== "" ? text : WITHDRAWN_NOTE;
      if (answered.length === 0 && told.trim() === "") return [];
      const turn = shape.writeTurn(
        writtenTurn(calls, answered, told, said, (call) => {
          const its = mapper.toProvider(call);
          return { ...its, id: ids.get(call) ?? its.id };
        }),
      );
      const renamed = answered.map((call) => ({ ...call, id: ids.get(call) ?? call.id }));
      const answers = results.map((result, index) => ({
        ...result,
        callId: renamed[index]?.id ?? result.callId,
      }));
      return [...toWellFormed(turn), ...writeResults(renamed, answers)];
    },

    toResults: (calls, executions, { aborted = "result" } = {}) =>
      // The provider's own message has the ids as they are, and takes one result for each.
      writeResults(
        calls,
        toToolResults(calls, executions, aborted).filter(
          ({ callId }, index, all) => all.findIndex((other) => other.callId === callId) === index,
        ),
      ),
  } satisfies ProviderProtocol<Tools, Message>);
}
