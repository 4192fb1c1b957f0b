import type { ToolCall } from "../engine/call.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

/** One assistant message. */
export interface AssistantTurn {
  /** The text outside the calls; `""` if there is none. */
  readonly text: string;
  /** The calls in order, with the names of the registry. No call of a message that was cut off is incomplete. */
  readonly calls: readonly TurnCall[];
  /** The calls that are not the registry's: those that the provider runs itself, or that another program answers. */
  readonly other: readonly OtherCall[];
  /** Why the message stopped, in the provider's words, such as `tool_use`; `undefined` if it does not say. */
  readonly stopReason: string | undefined;
  /** Whether the provider cut off the message. Then all its calls have `cutOff`, too. */
  readonly cutOff: boolean;
  /**
   * Data that the provider wants back with the message, such as signed reasoning: `toMessages` sends it. Store it with the
   * calls, as JSON; its form is internal to the protocol.
   */
  readonly providerData?: JsonObject;
}

/** A call of an assistant message. */
export interface TurnCall extends ToolCall {
  /** Set if the provider wrote the call as that of a custom tool: its arguments are a text, which is not JSON. */
  readonly custom?: true;
  /** What the provider wants back with the call, such as Gemini's `thoughtSignature`. */
  readonly providerData?: JsonObject;
}

/** A call that is not the registry's, such as `server_tool_use` or `mcp_approval_request`. */
export interface OtherCall {
  /** The provider's type. */
  readonly type: string;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** The part of the message as the provider sent it. In a stream, it may lack what arrives later. */
  readonly item: JsonObject;
}

/** A part of an assistant's turn as it is sent back: a text, a call, or a part as the provider wrote it. */
export type WrittenPart =
  | { readonly text: string }
  | { readonly call: TurnCall }
  | { readonly opaque: JsonObject };

/** An assistant's turn as it is sent back. There is a text or a call. */
export interface WrittenTurn {
  readonly text: string;
  readonly calls: readonly TurnCall[];
  /** Text, calls and opaque parts in the order in which the provider wrote them. No text is blank. */
  readonly parts: readonly WrittenPart[];
  /** Members of the provider's own message that it wants back. */
  readonly members: JsonObject;
  /** Whether calls were left out that had data of the provider. */
  readonly lacksData: boolean;
}

/** The assistant's turn without its calls: an `AssistantTurn`, or a stream. */
export interface SaidTurn {
  readonly text?: string;
  readonly cutOff?: boolean;
  readonly providerData?: JsonObject | undefined;
}

/**
 * Puts the calls that were answered back to their places between texts and opaque parts.
 *
 * @param all The calls of the turn, of which some may have been left out.
 * @param convert Converts a call for the provider.
 */
export function writtenTurn(
  all: readonly TurnCall[],
  answered: readonly TurnCall[],
  text: string,
  { cutOff = false, providerData }: SaidTurn,
  convert: (call: TurnCall) => TurnCall,
): WrittenTurn {
  const waiting = [...answered];
  const parts: WrittenPart[] = [];
  const stored = partsOf(providerData, cutOff);
  const isSame =
    stored.map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("") === text;
  let unsent = isSame ? "" : text;
  const flush = (): void => {
    if (unsent.trim() !== "") parts.push({ text: unsent });
    unsent = "";
  };
  const call = (next: TurnCall): void => {
    flush();
    parts.push({ call: convert(next) });
  };
  for (const { text: part, call: id, opaque } of stored) {
    const isText = typeof part === "string";
    if (isJsonObject(opaque)) {
      // A signed text is sent back as it is, or not at all.
      if (isSame || !isText) parts.push({ opaque });
    } else if (isSame && isText && part.trim() !== "") parts.push({ text: part });
    const index = waiting.findIndex((other) => other.id === id);
    for (const found of index === -1 ? [] : waiting.splice(index, 1)) call(found);
  }
  for (const next of waiting) call(next);
  flush();
  const members = providerData?.["message"];
  return {
    text,
    calls: parts.flatMap((part) => ("call" in part ? [part.call] : [])),
    parts,
    members: isJsonObject(members) ? members : {},
    lacksData: all.some((each) => each.providerData !== undefined && !answered.includes(each)),
  };
}

/** The parts of the provider's own message. The last one of a message that was cut off may be half a part. */
function partsOf(data: JsonObject | undefined, cutOff: boolean): readonly JsonObject[] {
  const parts: JsonValue | undefined = data?.["parts"];
  const stored = Array.isArray(parts) ? parts.filter(isJsonObject) : [];
  return cutOff && stored.at(-1)?.["opaque"] !== undefined ? stored.slice(0, -1) : stored;
}
