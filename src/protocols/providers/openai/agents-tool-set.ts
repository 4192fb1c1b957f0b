import type { ToolCall } from "../../../engine/call/call.ts";
import type { DispatchContext } from "../../../engine/call/context.ts";
import { toToolResults } from "../../../engine/call/messages.ts";
import { ToolDispatchEngine } from "../../../engine/engine.ts";
import type { JsonObject } from "../../../json/value.ts";
import { toWellFormed } from "../../../json/well-formed.ts";
import { toText } from "../../parsing/text.ts";
import type { ToolOffer, ToolSetOptions } from "../../protocol.ts";
import { asRefused, withAliases, withSignal } from "../dispatching.ts";
import { BrokenCalls } from "./agents-broken-calls.ts";
import {
  type OpenAiResponsesFunctionTool,
  type OpenAiResponsesTool,
  openAiResponsesProtocol,
} from "./responses.ts";

/** The argument of the function `tool` of OpenAI Agents (the package `@openai/agents`). */
export interface AgentsTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: {
    readonly type: "object";
    // biome-ignore lint/suspicious/noExplicitAny: the SDK's type of schemas is narrower than JSON Schema
    properties: any;
    required: string[];
    readonly additionalProperties: true;
  };
  /** `false` in the type only, because the SDK's type of strict schemas cannot be distinguished. */
  readonly strict: false;
  /** Dispatches a call. Returns its result as text, also if it failed. */
  readonly execute: (input: unknown, runContext?: unknown, details?: AgentsCallDetails) => Promise<string>;
}

/** What the SDK tells about a call. */
export interface AgentsCallDetails {
  readonly toolCall?: { readonly callId: string; readonly arguments: string };
  readonly signal?: AbortSignal;
}

/** The tools of an agent: pass each one to the SDK's function `tool`. */
export interface AgentsToolSet extends ToolOffer<AgentsTool[]> {
  /**
   * The runner's option of that name. It reports calls of unknown tools, if the runner has
   * `toolNotFoundBehavior: "return_error_to_model"`, and leaves the text of other errors to the SDK.
   */
  readonly toolErrorFormatter: (error: {
    readonly kind: string;
    readonly toolName: string;
    readonly callId?: string;
  }) => Promise<string | undefined>;
  /**
   * The runner's option of that name. It reports calls whose arguments are not JSON, for which the runner calls neither a
   * tool nor a formatter: it dispatches each of them once, and gives the model the engine's answer.
   */
  readonly callModelInputFilter: <Data extends AgentsModelInput>(turn: {
    readonly modelData: Data;
  }) => Promise<Data>;
}

/** What the SDK is about to send to the model. */
export interface AgentsModelInput {
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's items are a closed union
  input: any[];
}

/**
 * Creates the tools of an agent of OpenAI Agents, for the SDK's function `tool`. Each execution is a dispatch in this
 * context, which the SDK's abort signal cancels. Results are text only: images are replaced by a placeholder. Give the
 * runner both functions of the result, or it answers the calls of unknown tools and broken JSON without the engine.
 */
export function agentsToolSet<Embedder = unknown>(
  context: DispatchContext<Embedder>,
  { engine = new ToolDispatchEngine(), ...options }: ToolSetOptions = {},
): AgentsToolSet {
  const protocol = openAiResponsesProtocol(context.registry);
  const ctx = withAliases(context, protocol);
  const { tools, problems } = protocol.toTools({ ...options, customTools: false });
  const offered = new Set(tools.map(({ name }) => name));
  const broken = new BrokenCalls(
    (name) => offered.has(name),
    ({ name, arguments: args, callId }) => dispatch(asRefused(toCall(name, args, callId), ctx.registry)),
  );
  return {
    tools: tools.filter(isFunction).map((tool) => ({
      ...writeTool(tool),
      execute: (input, _, { toolCall, signal } = {}) => {
        // The model's own text, as its numbers may not survive parsing.
        const args = toolCall?.arguments ?? JSON.stringify(input);
        return dispatch(toCall(tool.name, args, toolCall?.callId), signal);
      },
    })),
    problems,
    toolErrorFormatter: async ({ kind, toolName, callId }) =>
      kind === "tool_not_found"
        ? dispatch(asRefused(toCall(toolName, "{}", callId), ctx.registry))
        : undefined,
    callModelInputFilter: async ({ modelData }) => ({
      ...modelData,
      input: await broken.answer(modelData.input),
    }),
  };

  /** The SDK has aliases, which `read` maps back. */
  function toCall(name: string, input: string, id: string | undefined): ToolCall {
    const item = { type: "function_call", call_id: id, name, arguments: input };
    return protocol.read([item]).calls[0] as ToolCall;
  }

  async function dispatch(call: ToolCall, signal?: AbortSignal): Promise<string> {
    const execution = await engine.dispatch(call, withSignal(ctx as DispatchContext, signal));
    const [result] = toToolResults([call], [execution], "result");
    return toWellFormed(toText(result?.content ?? []));
  }
}

function isFunction(tool: OpenAiResponsesTool): tool is OpenAiResponsesFunctionTool {
  return tool.type === "function";
}

function writeTool(tool: OpenAiResponsesFunctionTool): Omit<AgentsTool, "execute"> {
  const { name, description = "", parameters, strict } = tool;
  const { properties = {}, required = [], ...others } = parameters as JsonObject;
  // A schema without `additionalProperties` means true.
  const schema = { additionalProperties: true, ...others, properties, required };
  return { name, description, parameters: schema as AgentsTool["parameters"], strict: strict as false };
}
