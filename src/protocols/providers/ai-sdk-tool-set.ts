import { plainText } from "../../base/text.ts";
import { SandgateError } from "../../base/thrown.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { toToolResult, WITHDRAWN_TEXT } from "../../engine/call/messages.ts";
import type { ToolCall } from "../../engine/call.ts";
import {
  DEFAULT_RESULT_CHARS,
  modelTextOf,
  type ResultBudget,
  withinBudget,
} from "../../engine/result-budget.ts";
import { toWellFormed } from "../../json/canonical.ts";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import { isContentOutput } from "../../tool/content.ts";
import { toText } from "../content.ts";
import type { ToolOffer, ToolSetOptions } from "../protocol.ts";
import { type AiSdkOutput, type AiSdkToolDefinition, aiSdkProtocol, toAiSdkOutput } from "./ai-sdk.ts";
import { asRefused, type ToolSetCaller, type ToolSetTurn, toolSetCaller } from "./dispatching.ts";

/** A tool whose `execute` function dispatches through the engine. */
export interface AiSdkTool extends AiSdkToolDefinition {
  readonly execute: (
    input: JsonValue,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal },
  ) => Promise<JsonValue>;
  readonly toModelOutput: (options: {
    readonly input?: JsonValue;
    readonly output: JsonValue;
  }) => AiSdkOutput | AiSdkJsonOutput;
}

/** The tools of AI SDK 7's `generateText` and `streamText`. */
export interface AiSdkToolSet extends ToolOffer<Record<string, AiSdkTool>> {
  /**
   * The SDK's option of that name. It repairs nothing: it dispatches a call that the SDK refuses, which fails, so that
   * hooks and listeners see it.
   */
  readonly repairToolCall: (options: {
    readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: string };
  }) => Promise<null>;
}

/** An output that is not text. */
export interface AiSdkJsonOutput {
  readonly type: "json";
  readonly value: JsonValue;
}

/** Thrown to the SDK if a call failed: the `error` of the SDK's `tool-error` part. */
export class AiSdkToolError extends SandgateError {
  override readonly name = "AiSdkToolError";
  override readonly code = "tool_failed";
  /** `null` if a hook aborted the call. */
  readonly execution: ToolExecution | null;

  constructor(execution: ToolExecution | null) {
    super(execution === null ? WITHDRAWN_TEXT : toWellFormed(toText(toToolResult(execution).content)));
    this.execution = execution;
  }

  /** The SDK sends this text to the model, so it omits the class name. */
  override toString(): string {
    return this.message;
  }
}

/**
 * Creates the `tools` and `repairToolCall` of AI SDK 7's `generateText` and `streamText`. Each execution is a dispatch in
 * this context, which the SDK's abort signal cancels, or in this turn of a session, whose people, approvals, quotas and journal
 * then apply, and which the SDK's abort signal cancels as a whole. A failed call throws an {@link AiSdkToolError}, which the SDK
 * reports to the model. The model reads results within the context's `resultBudget`, and the names that it was offered. If
 * a person changed the arguments of a call, its output is `{ content }`, which begins with them.
 */
export function aiSdkToolSet<Embedder = unknown>(
  contextOrTurn: DispatchContext<Embedder> | ToolSetTurn,
  { engine, ...options }: ToolSetOptions = {},
): AiSdkToolSet {
  const protocol = aiSdkProtocol(contextOrTurn.registry);
  const caller = toolSetCaller(contextOrTurn, engine, protocol);
  const { tools, problems } = protocol.toTools(options);
  return {
    tools: Object.fromEntries(
      Object.entries(tools).map(([toolName, definition]) => [
        toolName,
        {
          ...definition,
          execute: executor(toolName),
          toModelOutput: (options) => toModelOutput(options, caller, nameOf(toolName)),
        },
      ]),
    ),
    problems,
    repairToolCall: async ({ toolCall }) => {
      const [call] = protocol.read([{ ...toolCall, type: "tool-call" }]).calls;
      if (call !== undefined) await caller.dispatch(asRefused(call, caller.registry));
      return null;
    },
  };

  /** The SDK has aliases, which `read` maps back. */
  function nameOf(toolName: string): string {
    const part = { type: "tool-call", toolCallId: "", toolName, input: {} };
    return protocol.read([part]).calls[0]?.name ?? toolName;
  }

  function executor(toolName: string): AiSdkTool["execute"] {
    return (input, { toolCallId, abortSignal }) => {
      // The SDK has aliases, which `read` maps back.
      const part = { type: "tool-call", toolCallId, toolName, input };
      const [call] = protocol.read([part]).calls;
      return execute(caller, call as ToolCall, abortSignal);
    };
  }
}

async function execute(
  caller: ToolSetCaller,
  call: ToolCall,
  signal: AbortSignal | undefined,
): Promise<JsonValue> {
  const execution = await caller.dispatch(call, signal);
  if (!execution?.success) throw new AiSdkToolError(execution);
  const { confirmation, work, output } = execution;
  if (confirmation?.editedDigest === undefined && work === undefined) return output;
  // The model also reads which arguments a person changed, and what the tool did.
  return { content: toToolResult(execution).content } as unknown as JsonObject;
}

/** Writes what the model reads of an output. JSON that is shortened is a text. */
function toModelOutput(
  { input = {}, output }: { readonly input?: JsonValue; readonly output: JsonValue },
  { registry, resultBudget: budget }: ToolSetCaller,
  toolName: string,
): AiSdkOutput | AiSdkJsonOutput {
  const tool = registry.has(toolName) ? registry.get(toolName) : undefined;
  const reader = { chars: budget?.chars ?? DEFAULT_RESULT_CHARS, input, toolName };
  const modelText = tool && modelTextOf(tool, output, reader);
  const isOfProgram = tool?.process !== undefined || tool?.microvm !== undefined;
  return writeOutput(modelText ?? output, budget, isOfProgram);
}

function writeOutput(
  output: JsonValue,
  budget: ResultBudget | undefined,
  isOfProgram: boolean,
): AiSdkOutput | AiSdkJsonOutput {
  if (isContentOutput(output)) {
    return toWellFormed(toAiSdkOutput(withinBudget(output.content, budget).content, false));
  }
  const value = toWellFormed(isOfProgram && typeof output === "string" ? plainText(output) : output);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const { content, truncated } = withinBudget([{ type: "text", text }], budget);
  if (truncated === undefined && typeof value !== "string") return { type: "json", value };
  return { type: "text", value: toText(content) };
}
