import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

const PLACE = /^\{([\w.-]+)\}$/;

/**
 * Fills a body template: a string `{name}` is replaced by that argument, of any type. A member or an item whose
 * argument is missing is left out. Other strings are not changed.
 */
export function fillBody(template: JsonValue, input: JsonObject): JsonValue | undefined {
  if (typeof template === "string") {
    const name = PLACE.exec(template)?.[1];
    if (name === undefined) return template;
    return Object.hasOwn(input, name) ? input[name] : undefined;
  }
  if (Array.isArray(template)) {
    return (template as readonly JsonValue[])
      .map((item) => fillBody(item, input))
      .filter((item) => item !== undefined);
  }
  if (!isJsonObject(template)) return template;
  const filled: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(template)) {
    const value = member === undefined ? undefined : fillBody(member, input);
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

/** The arguments whose names are not in `used`. */
export function restOf(input: JsonObject, used: ReadonlySet<string>): JsonObject {
  if (used.size === 0) return input;
  return Object.fromEntries(Object.entries(input).filter(([name]) => !used.has(name)));
}
