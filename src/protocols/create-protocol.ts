import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { type ToolResult, toToolResults } from "../engine/call/messages.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { toWellFormed } from "../json/canonical.ts";
import { isJsonObject } from "../json/value.ts";
import { CallMapper, ToolNames } from "./call-mapper.ts";
import { CallStream } from "./call-stream.ts";
import { describeImage, imageTypeOf } from "./content.ts";
import { DEMANDS, type Demands } from "./demands/demands.ts";
import { ToolFits } from "./demands/tool-fits.ts";
import type { Format } from "./formats.ts";
import { withObjectInput } from "./freeform.ts";
import { providerFailure } from "./parsing/shape.ts";
import { TurnCollector } from "./parsing/turn-collector.ts";
import { parseMessage } from "./parsing/values.ts";
import type {
  ProviderProtocol,
  ProviderShape,
  ToolOffer,
  ToResultsOptions,
  ToToolsOptions,
} from "./protocol.ts";
import { offerTools } from "./strict/offer-tools.ts";
import { type AssistantTurn, type TurnCall, writtenTurn } from "./turn.ts";

/** An image of a message. */
interface FoundImage {
  readonly part: object;
  readonly mimeType: string;
  readonly data: string;
  /** Whether it is one of a tool's result. */
  readonly isResult: boolean;
}

/** The parts that are results of tools. */
const RESULTS: ReadonlySet<unknown> = new Set([
  "tool_result",
  "function_call_output",
  "custom_tool_call_output",
]);

const DATA_URL = /^data:([^;,]{1,64});base64,/;

/** The hexadecimal digits at the end of an id that replaces another one. */
const DIGEST_LENGTH = 10;

const TOOLS_NAMES: OptionNames<ToToolsOptions> = { strict: true, customTools: true };
const RESULTS_NAMES: OptionNames<ToResultsOptions> = { aborted: true };

/** The assistant's text if the turn has none and all its calls were aborted. */
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
    return fitImages(shape.format, toWellFormed(shape.writeResults(aliased, custom)));
  };

  return Object.freeze({
    toTools(options: ToToolsOptions = {}): ToolOffer<Tools> {
      refuseUnknown(options, TOOLS_NAMES, "the tools of a provider");
      const { strict = false, customTools = true } = options;
      names.refresh();
      // Names and schemas were checked when the tools were registered.
      const own = registry
        .definitions()
        .map((tool) => ({ ...tool, description: tool.description.toWellFormed() }));
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
      const body = typeof message === "string" ? parseMessage(message) : message;
      if (isFailure(body)) throw providerFailure("/error");
      turn.stop(shape.readMessage(body, turn));
      turn.finish();
      turn.end();
      const { text, other, stopReason, cutOff } = turn;
      const calls = turn.take().map((call) => mapper.fromProvider(call));
      const { providerData } = turn;
      return { text, calls, other, stopReason, cutOff, ...(providerData && { providerData }) };
    },

    toAlias: (name) => names.toAlias(name),

    stream: (): CallStream => new CallStream(shape, mapper),

    toMessages(calls, executions, original = {}) {
      const { text = "" } = original;
      const results = toToolResults(calls, executions, "omit");
      const answered = calls.filter((_, index) => executions[index] !== null);
      const ids = wireIds(answered, demands);
      // A request that did not change would get the same answer again and again.
      const repeated =
        answered.length > 0 || calls.length === 0 || text.trim() !== "" ? text : WITHDRAWN_NOTE;
      if (answered.length === 0 && repeated.trim() === "") return [];
      const turn = shape.writeTurn(
        writtenTurn(calls, answered, repeated, original, (call) => {
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

    toResults(calls, executions, options: ToResultsOptions = {}) {
      refuseUnknown(options, RESULTS_NAMES, "the results of a provider");
      const { aborted = "result" } = options;
      // The provider's own message has the ids as they are, and takes one result for each.
      return writeResults(
        calls,
        toToolResults(calls, executions, aborted).filter(
          ({ callId }, index, all) => all.findIndex((other) => other.callId === callId) === index,
        ),
      );
    },

    fitImages: (messages) => fitImages(shape.format, messages),
  } satisfies ProviderProtocol<Tools, Message>);
}

/** Whether this is the body of a failed response. A body of the Responses API has a status, which says more. */
function isFailure(body: unknown): boolean {
  return isJsonObject(body) && isJsonObject(body["error"]) && body["status"] === undefined;
}

/**
 * Returns the ids under which calls are sent back, with their results. A provider accepts its own; ids of another provider can
 * have other characters, or be too long, and two calls of a message can have one id.
 */
function wireIds(calls: readonly TurnCall[], demands: Demands | undefined): ReadonlyMap<TurnCall, string> {
  const ids = new Map<TurnCall, string>();
  const used = new Set(calls.map(({ id }) => id));
  const seen = new Set<string>();
  for (const call of calls) {
    const { id } = call;
    if (!seen.has(id) && fits(id, demands)) {
      seen.add(id);
      continue;
    }
    // Unique in the message, and the same in every request.
    for (let count = 1; ; count++) {
      const other = fittingId(id, count, demands);
      if (used.has(other)) continue;
      used.add(other);
      ids.set(call, other);
      break;
    }
  }
  return ids;
}

function fits(id: string, demands: Demands | undefined): boolean {
  if (demands === undefined) return true;
  return id !== "" && id.length <= demands.idLength && demands.ids.test(id);
}

function fittingId(id: string, count: number, demands: Demands | undefined): string {
  // Loaded on use: it takes longer to load than this package.
  const { hash } = process.getBuiltinModule("node:crypto");
  const ending = `_${hash("sha256", `${id} ${count}`).slice(0, DIGEST_LENGTH)}`;
  const length = Math.min(demands?.idLength ?? 64, 64) - ending.length;
  return (id.replace(/[^a-zA-Z0-9_-]/g, "_") || "call").slice(0, length) + ending;
}

/** See `ProviderProtocol.fitImages`. In most formats, results have no images, or the provider accepts any number. */
function fitImages<Message>(format: Format, messages: readonly Message[]): readonly Message[] {
  const limits = format === "native" ? undefined : DEMANDS[format].images;
  if (limits === undefined) return messages;
  const { count, characters, many } = limits;
  const found = imagesIn(messages);
  const own = found.filter(({ isResult }) => !isResult);
  let images = own.length;
  let length = own.reduce((sum, { data }) => sum + data.length, 0);
  const left: FoundImage[] = [];
  const replaced = new Map<object, string>();
  const replace = (image: FoundImage): void => {
    replaced.set(image.part, describeImage({ type: "image", ...image }));
  };
  for (const image of found.filter(({ isResult }) => isResult).toReversed()) {
    if (images >= count || length + image.data.length > characters) {
      replace(image);
      continue;
    }
    images++;
    length += image.data.length;
    left.push(image);
  }
  if (many !== undefined && images > many.count)
    for (const image of left) if (imageTypeOf(image.data, many.side) === undefined) replace(image);
  return replaced.size === 0 ? messages : (withTexts(messages, replaced) as readonly Message[]);
}

/** Finds images in the order of the messages. */
function imagesIn(messages: readonly unknown[]): readonly FoundImage[] {
  const found: FoundImage[] = [];
  const visit = (value: unknown, isResult: boolean): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, isResult);
    if (!isJsonObject(value)) return;
    const { type, source, image_url: url, content, output } = value;
    if (type === "image" && isJsonObject(source) && typeof source["data"] === "string")
      found.push({ part: value, mimeType: String(source["media_type"]), data: source["data"], isResult });
    const [prefix = "", mimeType = ""] = (typeof url === "string" && DATA_URL.exec(url)) || [];
    if (type === "input_image" && prefix !== "")
      found.push({ part: value, mimeType, data: String(url).slice(prefix.length), isResult });
    for (const each of [content, output]) visit(each, isResult || RESULTS.has(type));
  };
  visit(messages, false);
  return found;
}

/** Returns a value with texts in place of some of its parts. */
function withTexts(value: unknown, replaced: ReadonlyMap<object, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => withTexts(each, replaced));
  if (!isJsonObject(value)) return value;
  const text = replaced.get(value);
  if (text !== undefined) return { type: value["type"] === "image" ? "text" : "input_text", text };
  const entries = Object.entries(value).map(([name, member]) => {
    const isList = (name === "content" || name === "output") && Array.isArray(member);
    return [name, isList ? withTexts(member, replaced) : member] as const;
  });
  return Object.fromEntries(entries);
}
