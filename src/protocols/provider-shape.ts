import type { ToolCall } from "../engine/call.ts";
import { buildToolResultMessages, type ToolResult } from "../engine/messages.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { JsonObject } from "../json/value.ts";
import type { CallCollector } from "./call-collector.ts";
import { CallStream } from "./call-stream.ts";
import type { Format } from "./format.ts";
import { checkCallCount } from "./limits.ts";
import { type OfferedTool, offerStrictTools, offerTools } from "./offer-tools.ts";
import type { AssistantTurn, Protocol, ToolOffer, ToToolsOptions } from "./protocol.ts";
import type { StrictSubset } from "./strict-schema.ts";
import { ToolNames } from "./tool-names.ts";

/** What is particular to a provider: how it writes tools, calls and results. Names are aliases throughout. */
export interface ProviderShape<Tools, Message> {
  readonly format: Format;
  /** What its strict mode takes; absent where there is no such mode. */
  readonly strict?: StrictSubset;
  /** Whether every name fits, so that there are no aliases. Default: `false`. */
  readonly takesAnyName?: boolean;
  writeTools(tools: readonly OfferedTool[]): Tools;
  /** @throws {ProtocolError} */
  readMessage(message: unknown): AssistantTurn;
  /** Reads one event of a stream. @throws {ProtocolError} */
  readEvent(event: JsonObject, calls: CallCollector): void;
  /** Writes the assistant's turn; there is at least one call. */
  writeTurn(calls: readonly ToolCall[], text: string): readonly Message[];
  /** There is at least one. */
  writeResults(results: readonly ToolResult[]): readonly Message[];
}

/** Joins a provider's shape with the names of a registry. */
export function createProtocol<Tools, Message>(
  shape: ProviderShape<Tools, Message>,
  registry: ToolRegistry,
): Protocol<Tools, Message> {
  const names = new ToolNames(registry, shape.takesAnyName ? /^/ : undefined);
  const toAlias = <Named extends { readonly name: string }>(named: Named): Named => ({
    ...named,
    name: names.toAlias(named.name),
  });
  const toResults: Protocol<Tools, Message>["toResults"] = (calls, executions) => {
    const [, { results }] = buildToolResultMessages(calls, executions);
    // Providers refuse empty lists.
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
  } satisfies Protocol<Tools, Message>);
}
