import type { ToolExecution } from "../engine/call/execution.ts";
import type { ToolResult } from "../engine/call/messages.ts";
import type { ToolCall } from "../engine/call.ts";
import type { ToolDispatchEngine } from "../engine/engine.ts";
import type { CallStream, EventReader } from "./call-stream.ts";
import type { TurnCollector } from "./parsing/turn-collector.ts";
import type { OfferedTool, ToolProblem } from "./strict/offer-tools.ts";
import type { StrictSubset } from "./strict/subsets.ts";
import type { AssistantTurn, SaidTurn, WrittenTurn } from "./turn.ts";

/**
 * Converts between a provider's messages and the tools of a registry: definitions out, calls in, results back. A name
 * that providers reject is sent as an alias, and mapped back in calls.
 */
export interface ProviderProtocol<Tools = unknown, Message = unknown> {
  /** Returns the definitions of the tools that are currently registered, in order of registration. */
  toTools(options?: ToToolsOptions): ToolOffer<Tools>;

  /**
   * Reads a complete assistant message, or the response that contains it. Arguments are not changed: the engine parses
   * them. A message without calls has an empty list of calls.
   *
   * @param message The body's text, its value, or the object of the provider's SDK.
   * @throws {ProtocolError} if the message does not match this format.
   */
  read(message: unknown): AssistantTurn;

  /** Returns the name under which a tool is offered, for `DispatchContext.toolAlias`. */
  toAlias(name: string): string;

  /** Returns a reader for a message that arrives as a stream. */
  stream(): CallStream;

  /**
   * Returns the messages that continue the conversation: the assistant's turn with its calls, and one result for each
   * call. Both omit calls that a hook aborted (`null`). If every call was aborted, only the assistant's text is left, or
   * a note if it has none.
   *
   * @param turn The assistant's text, to be repeated, and what the provider wants back with it: what `read` returned, or
   *   the stream.
   * @throws {TypeError} if calls and executions do not match one to one, in order.
   */
  toMessages(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
    turn?: SaidTurn,
  ): readonly Message[];

  /**
   * Returns only the results, for callers that send back the provider's own message. That message can have parts that
   * only the provider can read, such as signed reasoning. A call that a hook aborted gets an error result, because that
   * message still contains it.
   *
   * @throws {TypeError} like {@link ProviderProtocol.toMessages}.
   */
  toResults(
    calls: readonly ToolCall[],
    executions: readonly (ToolExecution | null)[],
    options?: ToResultsOptions,
  ): readonly Message[];

  /**
   * Returns messages with so many images, and so large ones, as the provider accepts in one request: of more, the oldest ones
   * of tools' results are replaced by a line of text each. Give it all messages of a request, since images of earlier turns
   * count, too. Other images count and stay. The messages that were given are not changed; if all images fit, they are returned.
   */
  fitImages<Given>(messages: readonly Given[]): readonly Given[];
}

/** Options of {@link ProviderProtocol.toResults}. */
export interface ToResultsOptions {
  /** Whether a call that a hook aborted gets the error result `Tool call was withdrawn`, or none. Default: `"result"`. */
  readonly aborted?: "result" | "omit";
}

/** Options of {@link ProviderProtocol.toTools}. */
export interface ToToolsOptions {
  /**
   * Whether the provider should guarantee that arguments match the schema. A schema outside the provider's strict
   * subset is rewritten, or offered without strictness and reported. Default: `false`.
   */
  readonly strict?: boolean;
  /**
   * Whether free-form tools are offered as custom tools, where the provider supports them (OpenAI). Set it to
   * `false` for compatible servers that do not: such tools are offered as functions whose only argument is
   * `input`. Default: `true`.
   */
  readonly customTools?: boolean;
}

/** Options of functions that return tools which dispatch their own calls. */
export interface ToolSetOptions extends ToToolsOptions {
  /**
   * Dispatches the calls in a context, such as what `instrument` of `sandgate/opentelemetry` returns. Not with a turn, whose
   * session dispatches them. Default: a `ToolDispatchEngine`.
   */
  readonly engine?: Pick<ToolDispatchEngine, "dispatch">;
}

/** The definitions of tools in a provider's shape. */
export interface ToolOffer<Tools> {
  /** The `tools` of the provider's request. */
  readonly tools: Tools;
  /** The tools that are left out, are not strict although `strict` was requested, or say less than their definition. */
  readonly problems: readonly ToolProblem[];
}

/** The provider-specific parts of a protocol. All names in it are aliases. */
export interface ProviderShape<Tools, Message> extends EventReader {
  /** The subset of its strict mode. Absent if it has no such mode. */
  readonly strict?: StrictSubset;
  /** Whether it accepts every name, so that aliases are not needed. Default: `false`. */
  readonly takesAnyName?: boolean;
  /**
   * Whether a call can have a text that is not JSON. Otherwise free-form tools are offered with an object schema, and
   * their calls have an object. Default: `false`.
   */
  readonly takesText?: boolean;
  /** Writes definitions. Those of free-form tools are marked only if the shape takes texts. */
  writeTools(tools: readonly OfferedTool[]): Tools;
  /**
   * Reads a whole message.
   *
   * @returns why it stopped; `undefined` if it does not say.
   * @throws {ProtocolError}
   */
  readMessage(message: unknown, turn: TurnCollector): string | undefined;
  /** Returns the assistant's turn. */
  writeTurn(turn: WrittenTurn): readonly Message[];
  /**
   * Returns the results. There is at least one.
   *
   * @param custom The ids of calls of custom tools.
   */
  writeResults(results: readonly ToolResult[], custom: ReadonlySet<string>): readonly Message[];
}
