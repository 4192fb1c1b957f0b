import type { JsonValue } from "../../../json/value.ts";
import { isNestedOption } from "../abi/shapes.ts";
import type { ComponentRecord, ComponentValue, TaggedValue } from "../abi/value.ts";
import type { ValueType } from "../linking/value-type.ts";

/** A value as JSON: the other way of `argumentsFromJson`. What has no JSON is refused before it comes so far. */
export function toJson(type: ValueType, value: ComponentValue): JsonValue {
  switch (type.kind) {
    case "s64":
    case "u64": {
      const number = Number(value);
      // No digit is lost: a string stands for what a double cannot hold.
      return Number.isSafeInteger(number) ? number : String(value);
    }
    case "f32":
    case "f64":
      return Number.isFinite(value) ? (value as number) : String(value);
    case "list":
      if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
      return (value as readonly ComponentValue[]).map((item) => toJson(type.element, item));
    case "tuple":
      return type.items.map((item, index) => toJson(item, (value as readonly ComponentValue[])[index]));
    case "record":
      return Object.fromEntries(
        type.fields.map(({ name, type: of }) => [name, toJson(of, (value as ComponentRecord)[name])]),
      );
    case "option":
      if (value === undefined) return null;
      if (!isNestedOption(type)) return toJson(type.some, value);
      return { some: toJson(type.some, (value as ComponentRecord)["some"]) };
    case "result": {
      const { tag, val } = value as TaggedValue;
      const of = tag === "ok" ? type.ok : type.err;
      return { [tag]: of === undefined ? null : toJson(of, val) };
    }
    case "variant": {
      const { tag, val } = value as TaggedValue;
      const of = type.cases.find(({ name }) => name === tag)?.type;
      return of === undefined ? { tag } : { tag, val: toJson(of, val) };
    }
    default:
      // Of these, JSON has the same.
      return value as JsonValue;
  }
}
