import type { JsonValue } from "../../../json/value.ts";
import { isNestedOption } from "../abi/shapes.ts";
import type { ComponentValue, TaggedValue } from "../abi/value.ts";
import type { ValueType } from "../linking/value-type.ts";

/** `JSON.stringify` writes the number -0 as `0`. */
const NEGATIVE_ZERO = (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON("-0");

/** A part of a value before or after it is converted. */
type Converted = ComponentValue | JsonValue;

/**
 * Converts a value to what `JSON.stringify` writes as its JSON, the reverse of `argumentsFromJson`. The type must have
 * passed `argumentsSchema`. Arrays and records are converted in place, so that a value does not take twice the memory.
 */
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
      if (Object.is(value, -0)) return NEGATIVE_ZERO;
      return Number.isFinite(value) ? (value as number) : String(value);
    case "list": {
      if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
      const items = value as Converted[];
      for (const [index, item] of items.entries())
        items[index] = toJson(type.element, item as ComponentValue);
      return items as JsonValue;
    }
    case "tuple": {
      const items = value as Converted[];
      for (const [index, item] of type.items.entries())
        items[index] = toJson(item, items[index] as ComponentValue);
      return items as JsonValue;
    }
    case "record":
      for (const { name, type: of } of type.fields) convertMember(value as MutableRecord, name, of);
      return value as JsonValue;
    case "option":
      if (value === undefined) return null;
      if (!isNestedOption(type)) return toJson(type.some, value);
      return convertMember(value as MutableRecord, "some", type.some);
    case "result": {
      const { tag, val } = value as TaggedValue;
      const of = tag === "ok" ? type.ok : type.err;
      return { [tag]: of === undefined ? null : toJson(of, val) };
    }
    case "variant": {
      const { tag } = value as TaggedValue;
      const of = type.cases.find(({ name }) => name === tag)?.type;
      return of === undefined ? { tag } : convertMember(value as MutableRecord, "val", of);
    }
    default:
      // Values of the other types are the same in JSON.
      return value as JsonValue;
  }
}

interface MutableRecord {
  [member: string]: Converted;
}

function convertMember(record: MutableRecord, name: string, type: ValueType): JsonValue {
  record[name] = toJson(type, record[name] as ComponentValue);
  return record as JsonValue;
}
