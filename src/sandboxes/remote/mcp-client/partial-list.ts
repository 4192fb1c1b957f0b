import { wellFormed } from "../../../base/text.ts";
import type { JsonBounds } from "../../../json/bounds.ts";
import { parseJson } from "../../../json/parse.ts";
import { type RawPart, rawItems, rawMembers } from "../../../json/raw-parts.ts";
import { freezeJson, type JsonObject, type JsonValue } from "../../../json/value.ts";

/** The member of a result with the items of its list that cannot be used, each as a text. */
export const UNUSABLE = "sandgate/unusable";

/** The lists of a server, by the methods that read them. */
const MEMBERS: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** The members that identify an item, in the order in which they are looked for. */
const NAMES = ["name", "uri", "uriTemplate"];

/** How large one item may be. */
const ITEM_BOUNDS: JsonBounds = Object.freeze({
  length: 4 * 1_024 * 1_024,
  values: 50_000,
  members: 20_000,
  decimals: "exact",
});

/** How many values all items have. */
const MAX_VALUES = 200_000;

/** How long the rest of the message may be. */
const REST_BOUNDS: JsonBounds = Object.freeze({ length: 1_024 * 1_024, values: 20_000, members: 10_000 });

/**
 * Reads an answer with a list, some of whose items are no usable JSON: those are left out and named, and the others stay.
 *
 * @param method The method of the request.
 * @returns `undefined` if it is no such answer, or what is around the items cannot be used.
 */
export function readPartialList(text: string, method: string): JsonObject | undefined {
  const member = Object.hasOwn(MEMBERS, method) ? MEMBERS[method] : undefined;
  const message = rawMembers(text);
  const result = rawMembers(message?.find(({ name }) => name === "result")?.text ?? "");
  const items = rawItems(result?.find(({ name }) => name === member)?.text ?? "");
  if (member === undefined || message === undefined || result === undefined || items === undefined)
    return undefined;
  const others = objectOf(result.filter(({ name }) => name !== member));
  const around = objectOf(message.filter(({ name }) => name !== "result"));
  const isOnce = [
    result.filter(({ name }) => name === member),
    message.filter(({ name }) => name === "result"),
  ];
  if (others === undefined || around === undefined || isOnce.some(({ length }) => length !== 1))
    return undefined;
  const listed: JsonValue[] = [];
  const unusable: string[] = [];
  let values = 0;
  for (const [index, item] of items.entries()) {
    const parsed = parseJson(item.text, ITEM_BOUNDS);
    if ("value" in parsed) values += item.values;
    if ("value" in parsed && values <= MAX_VALUES) listed.push(parsed.value);
    else {
      const why =
        "value" in parsed ? "the list is too long" : `${parsed.reason} at position ${parsed.position}`;
      unusable.push(`item ${index + 1} of its ${member}${nameOf(item)} is left out: ${why}`);
    }
    if (values > MAX_VALUES) break;
  }
  return freezeJson({ ...around, result: { ...others, [member]: listed, [UNUSABLE]: unusable } });
}

/** Parses members, of which none may be there twice. */
function objectOf(
  members: readonly { readonly name: string; readonly text: string }[],
): JsonObject | undefined {
  const text = members.map(({ name, text: value }) => `${JSON.stringify(name)}:${value}`).join(",");
  const parsed = parseJson(`{${text}}`, REST_BOUNDS);
  return "value" in parsed ? (parsed.value as JsonObject) : undefined;
}

function nameOf({ text }: RawPart): string {
  const members = rawMembers(text) ?? [];
  const named = NAMES.flatMap((name) => members.find((each) => each.name === name) ?? [])[0];
  if (named === undefined || !named.text.startsWith('"')) return "";
  try {
    return `, '${wellFormed(JSON.parse(named.text) as string)}',`;
  } catch {
    return "";
  }
}
