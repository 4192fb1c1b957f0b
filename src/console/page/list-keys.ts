import type { Keys } from "./keys.ts";
import { go, type View } from "./route.ts";

/** The keys that move through a list. `move` gets 1 for the next item, and -1 for the one before. */
export function moveKeys(move: (step: number) => void): Keys {
  return { j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1) };
}

/**
 * The keys that move through the list of a view, whose address names the selected item.
 *
 * @param id The id of the selected item. If the list does not have it, a key selects the first item.
 * @param ids Returns the ids of the list when a key is pressed.
 */
export function listKeys(view: View, id: string, ids: () => readonly string[]): Keys {
  return moveKeys((step) => {
    const listed = ids();
    const at = listed.indexOf(id);
    const next = listed[at < 0 ? 0 : at + step];
    if (next !== undefined) go(view, next);
  });
}
