import { LruMap } from "../../../base/lru-map.ts";
import type { DispatchContext } from "../../../engine/call/context.ts";
import { toToolResults } from "../../../engine/call/messages.ts";
import type { ToolCall } from "../../../engine/call.ts";
import { toWellFormed } from "../../../json/canonical.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { toText } from "../../content.ts";
import type { ToolOffer, ToolSetOptions } from "../../protocol.ts";
import { asRefused, type ToolSetTurn, toolSetCaller } from "../dispatching.ts";
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
  /** Dispatches a call. Returns its result as text, even if it failed. */
  readonly execute: (input: unknown, runContext?: unknown, details?: AgentsCallDetails) => Promise<string>;
}

/** The SDK's details of a call. */
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
 * context, which the SDK's abort signal cancels, or in this turn of a session, whose people, approvals, quotas and journal then
 * apply, and which the SDK's abort signal cancels as a whole. Results are text only: images are replaced by a placeholder. Give the
 * runner both functions of the result, or it answers the calls of unknown tools and broken JSON without the engine.
 */
export function agentsToolSet<Embedder = unknown>(
  contextOrTurn: DispatchContext<Embedder> | ToolSetTurn,
  { engine, ...options }: ToolSetOptions = {},
): AgentsToolSet {
  const protocol = openAiResponsesProtocol(contextOrTurn.registry);
  const caller = toolSetCaller(contextOrTurn, engine, protocol);
  const { tools, problems } = protocol.toTools({ ...options, customTools: false });
  const offered = new Set(tools.map(({ name }) => name));
  const broken = new BrokenCalls(
    (name) => offered.has(name),
    ({ name, arguments: args, callId }) => dispatch(asRefused(toCall(name, args, callId), caller.registry)),
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
        ? dispatch(asRefused(toCall(toolName, "{}", callId), caller.registry))
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
    const execution = await caller.dispatch(call, signal);
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

/** A call as the model wrote it. */
interface WrittenCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

/** Dispatches a call whose arguments are not JSON. Returns the text for the model. */
type Dispatch = (call: WrittenCall) => Promise<string>;

/** Maximum number of answers that are cached. A conversation has few calls with broken JSON. */
const MAX_ANSWERS = 1_024;

/**
 * Answers the calls that the runner of OpenAI Agents answers itself, since their arguments are not JSON. It calls no
 * function or hook for them, so they are found in the input of the model's next turn.
 */
class BrokenCalls {
  readonly #dispatch: Dispatch;
  readonly #isOwn: (name: string) => boolean;
  /** The answers by call, as every turn has all items. */
  readonly #answers = new LruMap<string, Promise<string>>(MAX_ANSWERS);

  /** @param isOwn Whether a name is that of one of our tools. */
  constructor(isOwn: (name: string) => boolean, dispatch: Dispatch) {
    this.#isOwn = isOwn;
    this.#dispatch = dispatch;
  }

  /** Returns the items of a conversation, with our answers in the results of such calls. */
  async answer<Item>(items: readonly Item[]): Promise<Item[]> {
    const broken = new Map(
      items.flatMap((item) => (this.#isBroken(item) ? [[item.callId, item] as const] : [])),
    );
    if (broken.size === 0) return [...items];
    return Promise.all(
      items.map(async (item) => {
        const call = isJsonObject(item) && isResult(item) ? broken.get(String(item["callId"])) : undefined;
        if (call === undefined) return item;
        return { ...item, output: { type: "text", text: await this.#answerTo(call) } };
      }),
    );
  }

  #answerTo(call: WrittenCall): Promise<string> {
    const key = JSON.stringify([call.callId, call.name, call.arguments]);
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      answer = this.#dispatch(call);
      this.#answers.set(key, answer);
    }
    return answer;
  }

  #isBroken(item: unknown): item is WrittenCall {
    if (!isJsonObject(item) || item["type"] !== "function_call") return false;
    const { callId, name, arguments: args } = item;
    return (
      typeof callId === "string" &&
      typeof name === "string" &&
      typeof args === "string" &&
      this.#isOwn(name) &&
      !isJson(args)
    );
  }
}

function isResult({ type }: JsonObject): boolean {
  return type === "function_call_result";
}

/** Whether the runner accepts the arguments. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
