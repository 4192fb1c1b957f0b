import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { HostContext } from "../tool/implementations/implementations.ts";
import { SIDE_EFFECTS, type SideEffects } from "../tool/side-effects.ts";

/** A tool of AI SDK 7, as far as it is used here. */
interface AiSdkSource {
  readonly title?: string | undefined;
  readonly description?: string | ((...given: never[]) => string) | undefined;
  readonly inputSchema: unknown;
  readonly needsApproval?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: each tool has an input of its own.
  readonly execute?: ((input: any, options: any) => unknown) | undefined;
}

/** A tool of LangChain, as far as it is used here. */
interface LangChainSource {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: each tool has an input of its own.
  readonly invoke: (input: any, config?: any) => Promise<unknown>;
}

interface WrapOptions {
  /**
   * The class of each tool's worst effect, by the name of the tool. Default: `destructive`, the strictest
   * class, since neither library declares it.
   */
  readonly sideEffects?: Readonly<Record<string, SideEffects>>;
}

const NAMES: OptionNames<WrapOptions> = { sideEffects: true };

/**
 * Makes host tools of those that were written for AI SDK 7, by their names, or for LangChain, as a list.
 * Their functions run in this process, and get the call's `signal` as the libraries pass theirs. For a tool
 * of the AI SDK with `needsApproval`, a person is asked before every call of a session.
 *
 * @throws {TypeError} if something is not a tool, has no function, or `sideEffects` names another tool or an
 *   unknown class.
 * @throws {SchemaError} if a schema has no JSON Schema, or JSON Schema cannot express it.
 */
export function wrapTools(
  tools: Readonly<Record<string, AiSdkSource>> | readonly LangChainSource[],
  options: WrapOptions = {},
): readonly Tool[] {
  refuseUnknown(options, NAMES, "wrapTools");
  const { sideEffects = {} } = options;
  const wrapped = Array.isArray(tools)
    ? (tools as readonly LangChainSource[]).map((tool) => fromLangChain(tool, sideEffects))
    : Object.entries(tools as Readonly<Record<string, AiSdkSource>>).map(([name, tool]) =>
        fromAiSdk(name, tool, sideEffects),
      );
  for (const [name, given] of Object.entries(sideEffects)) {
    if (!wrapped.some((tool) => tool.name === name))
      throw new TypeError(`sideEffects names '${name}', which is none of the tools`);
    if (!SIDE_EFFECTS.includes(given))
      throw new TypeError(`sideEffects of '${name}' must be one of ${SIDE_EFFECTS.join(", ")}`);
  }
  return wrapped;
}

function classOf(name: string, sideEffects: NonNullable<WrapOptions["sideEffects"]>): SideEffects {
  return (Object.hasOwn(sideEffects, name) ? sideEffects[name] : undefined) ?? "destructive";
}

function fromAiSdk(
  name: string,
  tool: AiSdkSource,
  sideEffects: NonNullable<WrapOptions["sideEffects"]>,
): Tool {
  const { title, description, inputSchema, needsApproval, execute } = tool;
  if (typeof execute !== "function")
    throw new TypeError(`the tool '${name}' has no execute: it runs elsewhere, and cannot be wrapped`);
  if (description !== undefined && typeof description !== "string")
    throw new TypeError(`the tool '${name}' has a description that is no text`);
  return defineTool({
    name,
    description: description ?? title ?? name,
    ...(title !== undefined && { title }),
    inputSchema: schemaOf(name, inputSchema),
    sideEffects: classOf(name, sideEffects),
    ...(needsApproval !== undefined && needsApproval !== false && { confirm: "always" as const }),
    host: async (input: unknown, { callId, signal }: HostContext) =>
      output(await execute.call(tool, input, { toolCallId: callId, abortSignal: signal, messages: [] })),
  }) as Tool;
}

function fromLangChain(tool: LangChainSource, sideEffects: NonNullable<WrapOptions["sideEffects"]>): Tool {
  const { name, description, schema } = tool;
  if (typeof name !== "string" || typeof tool.invoke !== "function")
    throw new TypeError("each tool of LangChain must have a name and invoke");
  return defineTool({
    name,
    description,
    inputSchema: schemaOf(name, schema),
    sideEffects: classOf(name, sideEffects),
    host: async (input: unknown, { signal }: HostContext) => output(await tool.invoke(input, { signal })),
  }) as Tool;
}

/** Returns what `defineTool` takes: a Standard Schema, such as one of zod, or the JSON Schema of `jsonSchema(…)`. */
function schemaOf(name: string, given: unknown): JsonObject {
  // A schema of the AI SDK can be a function that makes it.
  const schema: unknown = typeof given === "function" && !("~standard" in given) ? given() : given;
  if (typeof schema === "object" && schema !== null) {
    // `defineTool` finds out which of the two it is.
    if ("~standard" in schema) return schema as unknown as JsonObject;
    if ("jsonSchema" in schema && isJsonObject(schema.jsonSchema)) return schema.jsonSchema;
    if (isJsonObject(schema)) return schema;
  }
  throw new TypeError(`the tool '${name}' has no schema that can be used: give one of zod, or a JSON Schema`);
}

/** The output of a tool: if it yields several, the last one. A value that is not JSON fails the call. */
async function output(result: unknown): Promise<JsonValue> {
  let last = result;
  if (typeof result === "object" && result !== null && Symbol.asyncIterator in result)
    for await (const each of result as AsyncIterable<unknown>) last = each;
  return (last ?? null) as JsonValue;
}
