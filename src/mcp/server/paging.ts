import { hash } from "node:crypto";
import type { Sdk } from "./load-sdk.ts";

/** The most items of a page. Most clients get everything at once, since some ask for the first page only. */
const MAX_ITEMS = 1_000;
/** The most characters of a page. A single item may have more. */
const MAX_CHARS = 2 * 1_024 * 1_024;

/** A page of a list, with the cursor of the next one if there is one. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: { readonly nextCursor?: string };
}

/**
 * Returns a page of a list. A cursor is the digest of the last item's key: it reveals nothing, always has the
 * same length, needs no state on the server, and leads only to items that the client may see anyway.
 *
 * @param cursor What the client sent. Default: the first page.
 * @param keyOf Returns what identifies an item.
 * @throws an error of the SDK if the cursor is unknown, for example because its item has been removed.
 */
export function pageOf<Item>(
  sdk: Sdk,
  list: readonly Item[],
  cursor: string | undefined,
  keyOf: (item: Item) => string,
): Page<Item> {
  const before = cursor === undefined ? -1 : list.findIndex((item) => cursorOf(keyOf(item)) === cursor);
  if (cursor !== undefined && before < 0) {
    const message = "The cursor leads nowhere: list again without it";
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
  }
  const items: Item[] = [];
  let chars = 0;
  for (const item of list.slice(before + 1, before + 1 + MAX_ITEMS)) {
    chars += JSON.stringify(item).length;
    if (items.length > 0 && chars > MAX_CHARS) break;
    items.push(item);
  }
  const last = items.at(-1);
  const isEnd = last === undefined || before + 1 + items.length >= list.length;
  return { items, next: isEnd ? {} : { nextCursor: cursorOf(keyOf(last)) } };
}

function cursorOf(key: string): string {
  return hash("sha256", key, "base64url");
}
