import { isJsonObject, type JsonValue } from "../../../json/value.ts";

/** The beginning of a JSON text. */
export interface BoundedJson {
  readonly text: string;
  /** Whether there is more: the text is no JSON then. */
  readonly isCut: boolean;
}

/** Writes a value as JSON until the text has `chars` characters. The rest of the value costs nothing. */
export function boundedJson(value: JsonValue, chars: number): BoundedJson {
  let text = "";
  let isCut = false;
  const add = (more: string): boolean => {
    const room = chars - text.length;
    text += more.length > room ? more.slice(0, room) : more;
    isCut ||= more.length > room;
    return !isCut;
  };
  const addText = (string: string): boolean => {
    if (string.length <= chars - text.length) return add(JSON.stringify(string));
    add(JSON.stringify(string.slice(0, chars)));
    isCut = true;
    return false;
  };
  const write = (each: JsonValue): boolean => {
    if (typeof each === "string") return addText(each);
    if (typeof each !== "object" || each === null) return add(JSON.stringify(each));
    let separator = "";
    if (Array.isArray(each)) {
      if (!add("[")) return false;
      for (const item of each) {
        if (!add(separator) || !write(item)) return false;
        separator = ",";
      }
      return add("]");
    }
    if (!isJsonObject(each) || !add("{")) return false;
    for (const name in each) {
      if (!add(separator) || !addText(name) || !add(":") || !write(each[name] ?? null)) return false;
      separator = ",";
    }
    return add("}");
  };
  write(value);
  return { text, isCut };
}
