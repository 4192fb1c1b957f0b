import { useLayoutEffect, useRef } from "preact/hooks";
import { go, type View } from "./route.ts";

/** What keys do. A key is its `KeyboardEvent.key`. */
export type Keys = Readonly<Record<string, () => void>>;

/** Elements in which keys write. A checkbox takes only the space bar. */
const EDITABLE = "input:not([type=checkbox]), textarea, select, [contenteditable]";
/** What `Enter` activates by itself. */
const ACTIVE = "button, a, summary";

/**
 * Has keys do something while a component is there. They do nothing while a text is edited or a dialog is open, with a
 * modifier, or when a pressed key repeats: it must not answer one confirmation after the other.
 */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  // Once the component is shown, its keys work: other effects run after the page has been painted.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.target instanceof Element && event.target.closest(EDITABLE) !== null) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (event.key === "Enter" && event.target instanceof Element && event.target.closest(ACTIVE) !== null)
        return;
      const key = latinKey(event);
      const action = Object.hasOwn(current.current, key) ? current.current[key] : undefined;
      if (action === undefined) return;
      const moves = key === "j" || key === "k" || key.startsWith("Arrow");
      if (event.repeat && !moves) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/** On a keyboard of another script, a key is the letter that a Latin keyboard has in its place. */
function latinKey({ key, code }: KeyboardEvent): string {
  const isForeign = key.length === 1 && /(?!\p{Script=Latin})\p{L}/u.test(key);
  if (!isForeign || !/^Key[A-Z]$/.test(code)) return key;
  const letter = code.charAt(3);
  return key === key.toLowerCase() ? letter.toLowerCase() : letter;
}

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
