import { closingQuote } from "./refusal.ts";

/** What to do with a text in which an object has several members of one name. `"last"`: the last one counts. */
export type DuplicateKeys = "refuse" | "last";

/** Why a text with a repeated member name is refused: parsers disagree on which member counts. */
export const DUPLICATE_KEY = "a member name that the object already has";

const COLON = 0x3a;
const QUOTE = 0x22;

/**
 * Whether a valid JSON text repeats a member name in an object.
 *
 * @param members How many members the objects have that it was parsed to.
 */
export function hasDuplicateKeys(text: string, members: number): boolean {
  // Most texts have no other colons than those of their members, which are counted faster.
  return members > 0 && hasMoreColons(text, members) && membersIn(text) > members;
}

function hasMoreColons(text: string, count: number): boolean {
  let left = count;
  for (let at = text.indexOf(":"); at !== -1; at = text.indexOf(":", at + 1)) {
    if (--left < 0) return true;
  }
  return false;
}

/** Counts the members that are written in a valid JSON text. */
function membersIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === COLON) count++;
    else if (unit === QUOTE) at = closingQuote(text, at);
  }
  return count;
}

/** Returns the index of the first repeated member name of a valid JSON text; `undefined` if none. */
export function locateDuplicateKey(text: string): number | undefined {
  /** The names in each open object; `undefined` for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = closingQuote(text, at);
        const names = isName ? open.at(-1) : undefined;
        const literal = text.slice(at, end + 1);
        const name = literal.includes("\\") ? (JSON.parse(literal) as string) : literal.slice(1, -1);
        if (names?.has(name)) return at;
        names?.add(name);
        isName = false;
        at = end;
        break;
      }
      case "{":
        open.push(new Set());
        isName = true;
        break;
      case "[":
        open.push(undefined);
        break;
      case "}":
      case "]":
        open.pop();
        isName = false;
        break;
      case ",":
        isName = open.at(-1) !== undefined;
        break;
    }
  }
  return undefined;
}
