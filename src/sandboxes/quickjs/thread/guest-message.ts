import { locateRefusal } from "../../../json/refusal.ts";

/** What a message can be, by its first character: the driver says what each is. */
export const MESSAGE_KINDS = ["b", "c", "f", "l", "n", "r", "s", "w"] as const;

/** See {@link MESSAGE_KINDS}. */
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/**
 * The most characters that cross the border as one text, except for the arguments and results of calls. Node.js cannot
 * be interrupted while it parses, writes or converts a text, and takes up to 100 ms a MiB if each character is escaped.
 * The driver sends more as bytes, or in pieces.
 */
export const MAX_PIECE_LENGTH = 65_536;

/** JSON writes a UTF-8 byte in up to six characters (`\u0001`). */
export const MAX_ESCAPED = 6;

/** The names, paths, methods and URLs of a message have up to this many characters as JSON. */
const MAX_NAMES_LENGTH = 64 * 1_024;

/** The most values of a message: 256 header fields, with a list for each, and the other parts of a request. */
const MAX_VALUES: number = 3 * 256 + 16;

/** Messages up to this length are too small for their structure to matter. */
const MAX_UNSCANNED_LENGTH = 4_096;

/**
 * Whether the text of a guest's message is small enough to be parsed. The driver writes a few strings, but the guest
 * determines how long they are.
 *
 * @param contentBytes The most bytes that the message's content can have: a text to write, the body of a request.
 */
export function isWithinBounds(text: string, contentBytes: number): boolean {
  if (text.length <= MAX_UNSCANNED_LENGTH) return true;
  const length = MAX_NAMES_LENGTH + MAX_ESCAPED * Math.max(contentBytes, 0);
  const bounds = { length, values: MAX_VALUES, members: 0 };
  return locateRefusal(text, bounds, "structure") === undefined;
}

/** Parses a guest's message. Returns an empty list for anything but a list. */
export function parseMessage(text: string): readonly unknown[] {
  try {
    const message: unknown = JSON.parse(text);
    return Array.isArray(message) ? message : [];
  } catch {
    return [];
  }
}
