import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

/** What stands in place of a secret in recorded arguments, or in the names of their members: see `Redaction`. */
const MARK = "[redacted: ";

/** Whether a part of recorded arguments was redacted. */
export function hasRedacted(value: JsonValue): boolean {
  return JSON.stringify(value).includes(MARK);
}

/**
 * Returns recorded arguments that say when a part of them is read that was redacted: its text, its name, or a member that may have
 * had another name.
 */
export function watchRedacted(value: JsonValue, onRead: () => void): JsonValue {
  if (typeof value === "string" && value.includes(MARK)) onRead();
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value);
  const hasRedactedName = names.some((name) => name.includes(MARK));
  // A copy that is not frozen: a proxy must return the values of a frozen one as they are.
  const copy = isJsonObject(value) ? { ...value } : [...value];
  const read = (key: string | symbol): void => {
    if (typeof key !== "string") return;
    const found: unknown = Reflect.get(copy, key);
    if (typeof found === "string" ? found.includes(MARK) : found === undefined && hasRedactedName) onRead();
  };
  return new Proxy<JsonObject | JsonValue[]>(copy as JsonObject | JsonValue[], {
    get(target, key, receiver) {
      read(key);
      const found: unknown = Reflect.get(target, key, receiver);
      return typeof key === "string" && Object.hasOwn(target, key)
        ? watchRedacted(found as JsonValue, onRead)
        : found;
    },
    has(target, key) {
      read(key);
      return Reflect.has(target, key);
    },
    getOwnPropertyDescriptor(target, key) {
      read(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
    ownKeys(target) {
      if (hasRedactedName) onRead();
      return Reflect.ownKeys(target);
    },
  }) as JsonValue;
}
