import { isJsonObject, type JsonValue } from "../../../../json/value.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../../../tool/side-effects.ts";

/** Words of a tool's name that say what it does at worst. The strictest class applies. */
const WORDS: readonly (readonly [SideEffects, ReadonlySet<string>])[] = [
  [
    "destructive",
    new Set(
      "delete destroy drop purge remove erase wipe truncate kill terminate revoke reset uninstall force clear".split(
        " ",
      ),
    ),
  ],
  [
    "network",
    new Set(
      "send post publish email mail message notify invite share merge push comment reply pay transfer buy order book deploy upload submit tweet call trigger".split(
        " ",
      ),
    ),
  ],
  [
    "execute",
    new Set("exec execute run eval evaluate shell bash terminal command script sql spawn start".split(" ")),
  ],
  [
    "write",
    new Set(
      "write create update edit set add insert put patch save append store modify change move rename copy import replace upsert toggle enable disable".split(
        " ",
      ),
    ),
  ],
];

/** Verbs after which the other words of a name are what is read: `list_merge_requests`. */
const READING = new Set(
  "get list read search find fetch describe show count view check lookup head stat status tree diff compare".split(
    " ",
  ),
);

/**
 * Proposes the class of a tool: the one of its hints, or a stricter one if its name says that it does more. Without hints, a
 * tool is `destructive`, as the defaults of MCP say.
 *
 * @param name The server's own name of the tool.
 * @param hints Its `annotations`. Any value.
 */
export function proposedClass(name: string, hints: JsonValue | undefined): SideEffects {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const [first = ""] = words;
  const telling = READING.has(first) ? [] : words;
  const named = WORDS.filter(([, known]) => telling.some((word) => known.has(word))).map(([each]) => each);
  return [hintedClass(hints), ...named].reduce((a, b) =>
    SIDE_EFFECTS.indexOf(a) < SIDE_EFFECTS.indexOf(b) ? b : a,
  );
}

function hintedClass(hints: JsonValue | undefined): SideEffects {
  const { readOnlyHint, destructiveHint, openWorldHint } =
    hints !== undefined && isJsonObject(hints) ? hints : {};
  if (destructiveHint === true) return "destructive";
  if (readOnlyHint === true) return "read";
  if (destructiveHint !== false) return "destructive";
  return openWorldHint === false ? "write" : "network";
}
