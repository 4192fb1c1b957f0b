/**
 * A value of the component model in JavaScript:
 *
 * | type | value |
 * |---|---|
 * | bool, integers up to 32 bits, floats, string, char | the same |
 * | s64, u64 | bigint |
 * | list<u8>; other lists, tuples | Uint8Array; array |
 * | record | object, with the fields' names as in WIT |
 * | variant, result | `{ tag, val }`; `val` is missing where the case carries nothing |
 * | enum | its name |
 * | flags | array of the names that are set |
 * | option | `undefined`, or the value; an option in an option is `{ some }` |
 * | own, borrow | what the resource stands for: of the host's resources an object, of others a number |
 */
export type ComponentValue =
  | undefined
  | boolean
  | number
  | bigint
  | string
  | object
  | Uint8Array
  | readonly ComponentValue[]
  | ComponentRecord
  | TaggedValue;

/** A record's fields. */
export interface ComponentRecord {
  readonly [field: string]: ComponentValue;
}

/** A case of a variant or a result. */
export interface TaggedValue {
  readonly tag: string;
  readonly val?: ComponentValue;
}
