import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { TurnCall } from "./turn.ts";

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

/** What a caller says of the assistant's turn besides its calls: an `AssistantTurn`, or a stream. */
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
  let unsaid = isSame ? "" : text;
  const say = (): void => {
    if (unsaid.trim() !== "") parts.push({ text: unsaid });
    unsaid = "";
  };
  const call = (next: TurnCall): void => {
    say();
    parts.push({ call: convert(next) });
  };
  for (const { text: said, call: id, opaque } of stored) {
    const isText = typeof said === "string";
    if (isJsonObject(opaque)) {
      // A signed text is sent back as it is, or not at all.
      if (isSame || !isText) parts.push({ opaque });
    } else if (isSame && isText && said.trim() !== "") parts.push({ text: said });
    const index = waiting.findIndex((other) => other.id === id);
    for (const found of index === -1 ? [] : waiting.splice(index, 1)) call(found);
  }
  for (const next of waiting) call(next);
  say();
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
