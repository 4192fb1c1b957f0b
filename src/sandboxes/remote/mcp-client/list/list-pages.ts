import type { JsonObject, JsonValue } from "../../../../json/value.ts";
import { UNUSABLE } from "./partial-list.ts";

/** The most pages of a list. */
const MAX_PAGES = 256;

/** The longest cursor, in characters. */
const MAX_CURSOR = 8_192;

/** The most time for which a list may be retained, in ms. */
const MAX_TTL_MS = 24 * 60 * 60_000;

/** A list of a server cannot be used. `message` has no text of the server. */
export class ListError extends Error {
  override readonly name = "ListError";
}

/** Sends a request that is no call. */
export type ListRequest = (method: string, params: JsonObject) => Promise<JsonObject>;

/** Which list is read. */
export interface ListedMember {
  readonly method: string;
  /** The member of a page with the items. It names them in errors, too. */
  readonly member: string;
  /** The most items of all pages. */
  readonly maxItems: number;
}

/** The items of all pages, as the server sent them. */
export interface ListedPages {
  readonly items: readonly JsonValue[];
  /** One line for each item that is no usable JSON. They may have text of the server. */
  readonly problems: readonly string[];
  /** Milliseconds after which the list should be read again; `undefined` if the server does not say. */
  readonly ttlMs: number | undefined;
}

/**
 * Reads all pages of a list.
 *
 * @throws {ListError} if the pages do not end, or exceed the bounds.
 */
export async function listPages(
  request: ListRequest,
  { method, member, maxItems }: ListedMember,
): Promise<ListedPages> {
  const items: JsonValue[] = [];
  const problems: string[] = [];
  const cursors = new Set<string>();
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    if (page > MAX_PAGES) throw new ListError(`its list of ${member} has more than ${MAX_PAGES} pages`);
    const result = await request(method, cursor === undefined ? {} : { cursor });
    const { [member]: listed, nextCursor, ttlMs: ttl, [UNUSABLE]: unusable } = result;
    if (!Array.isArray(listed)) throw new ListError(`its list of ${member} is not a list`);
    if (items.length + listed.length > maxItems)
      throw new ListError(`it has more than ${maxItems} ${member}`);
    // Not as arguments, of which there can be too many.
    for (const item of listed as readonly JsonValue[]) items.push(item);
    if (Array.isArray(unusable)) problems.push(...unusable.slice(0, maxItems).map(String));
    if (typeof ttl === "number" && ttl >= 0) ttlMs = Math.min(ttl, MAX_TTL_MS);
    if (nextCursor === undefined || nextCursor === null) return { items, problems, ttlMs };
    if (typeof nextCursor !== "string" || nextCursor.length > MAX_CURSOR) {
      throw new ListError(`a page of its list of ${member} has a cursor that is not a short string`);
    }
    if (cursors.has(nextCursor))
      throw new ListError(`a page of its list of ${member} leads back to an earlier one`);
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
}
