import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

/** A text that YAML reads as a string, also in a list between brackets. */
const PLAIN = /^(?:[A-Za-z_/]|\.{1,2}\/)[A-Za-z0-9_/.-]*$/;
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
/** Everything but visible ASCII: what cannot be seen, or looks like another character. */
const UNUSUAL = /[^ -~]/g;

/**
 * Writes objects as the items of a list in YAML: a line for each member, and for each member of the objects that are named
 * `blocks`. Texts consist of visible ASCII characters; all other ones are escaped.
 */
export function writeYamlItems(items: readonly JsonObject[], blocks: readonly string[]): string {
  return items.map((item) => writeItem(item, blocks)).join("");
}

function writeItem(item: JsonObject, blocks: readonly string[]): string {
  let text = "";
  for (const [name, value] of Object.entries(item)) {
    text += `${text === "" ? "- " : "  "}${scalar(name)}:`;
    if (blocks.includes(name) && isJsonObject(value) && Object.keys(value).length > 0) {
      const members = Object.entries(value);
      text += `\n${members.map(([key, member]) => `    ${scalar(key)}: ${flow(member)}\n`).join("")}`;
    } else text += ` ${flow(value)}\n`;
  }
  return text === "" ? "- {}\n" : text;
}

function flow(value: JsonValue | undefined): string {
  if (typeof value === "string") return scalar(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value ?? null);
  const members = Object.entries(value);
  return members.length === 0
    ? "{}"
    : `{ ${members.map(([key, member]) => `${scalar(key)}: ${flow(member)}`).join(", ")} }`;
}

function scalar(text: string): string {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text;
  return JSON.stringify(text).replace(
    UNUSUAL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
