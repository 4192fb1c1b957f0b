/**
 * A value of the component model in JavaScript:
 *
 * | type | value |
 * |---|---|
 * | bool, integers up to 32 bits, floats, string, char | the same |
 * | s64, u64 | bigint |
 * | list<u8>; other lists, tuples | Uint8Array; array |
 * | record | object, with the fields' names as in WIT |
 * | variant, result | `{ tag, val }`; `val` is missing if the case has no payload |
 * | enum | its name |
 * | flags | array of the names that are set |
 * | option | `undefined`, or the value; for an option of an option, `{ some }` |
 * | own, borrow | the representation of the resource: an object of the host, or a component's number |
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

/** A value of a variant or a result. */
export interface TaggedValue {
  readonly tag: string;
  readonly val?: ComponentValue;
}

/** A component violated the canonical ABI. Ends the call like a trap does. */
export class AbiError extends Error {
  override readonly name = "AbiError";
}
