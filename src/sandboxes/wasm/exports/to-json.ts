import type { JsonValue } from "../../../json/value.ts";
import { isNestedOption } from "../abi/shapes.ts";
import type { ComponentRecord, ComponentValue, TaggedValue } from "../abi/value.ts";
import type { ValueType } from "../linking/value-type.ts";

/** Converts a value to JSON, the reverse of `argumentsFromJson`. The type must have passed `argumentsSchema`. */
export function toJson(type: ValueType, value: ComponentValue): JsonValue {
  switch (type.kind) {
    case "s64":
    case "u64": {
      const number = Number(value);
      // A string if a double cannot represent the integer exactly.
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
      // Values of the other types are the same in JSON.
      return value as JsonValue;
  }
}
