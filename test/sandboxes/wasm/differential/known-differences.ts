import type { JsonValue } from "../../../../src/json/value.ts";
import type { ValueType } from "../../../../src/sandboxes/wasm/linking/value-type.ts";
import type { Difference } from "./difference.ts";
import type { Encoding } from "./value-component.ts";

/**
 * A way in which jco's code differs from the Component Model's specification, which Sandgate's engine follows. The test
 * fails if the example does not differ any more: delete the entry then.
 */
export interface KnownDifference {
  /** What the specification says (`CanonicalABI.md`), and what jco's code does. */
  readonly reason: string;
  readonly example: {
    readonly type: ValueType;
    readonly encoding: Encoding;
  } & ({ readonly bytes: readonly number[] } | { readonly json: JsonValue });
  /** How the engines end the example. */
  readonly ours: "value" | "trap";
  readonly jco: "value" | "trap";
  /** Whether a difference is of this kind. */
  readonly covers: (difference: Difference) => boolean;
}

const jcoTraps =
  (text: RegExp) =>
  ({ ours, jco }: Difference): boolean =>
    "value" in ours && "trap" in jco && text.test(jco.trap);

const onlyOursTraps =
  (text: RegExp, type: RegExp) =>
  (difference: Difference): boolean => {
    const { ours, jco } = difference;
    return "trap" in ours && "value" in jco && text.test(ours.trap) && type.test(difference.type);
  };

/** The address and length 272 and 2, as two integers of 32 bits, and the bytes there. */
const STRING_OF_TWO = [0x10, 0x01, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    reason: "`convert_int_to_bool`: any number except 0 is true; jco's code traps unless it is 0 or 1",
    example: { type: { kind: "bool" }, encoding: "utf8", bytes: [2] },
    ours: "value",
    jco: "trap",
    covers: jcoTraps(/invalid variant discriminant for bool/),
  },
  {
    reason: "`lift_flat_signed`: the lower bits of a core value count; jco's code traps if others are set",
    example: { type: { kind: "s8" }, encoding: "utf8", bytes: [0x80] },
    ours: "value",
    jco: "trap",
    covers: jcoTraps(/must be between -(128 and 127|32768 and 32767)/),
  },
  {
    reason: "`unpack_flags_from_int`: bits without a label are ignored; jco's code traps if one is set",
    example: { type: { kind: "flags", names: ["a"] }, encoding: "utf8", bytes: [2] },
    ours: "value",
    jco: "trap",
    covers: jcoTraps(/flags have extraneous bits set/),
  },
  {
    reason: "`load_string_from_range`: invalid UTF-8 and UTF-16 trap; jco's code replaces it",
    example: { type: { kind: "string" }, encoding: "utf8", bytes: [...STRING_OF_TWO, 0xff, 0xff] },
    ours: "trap",
    jco: "value",
    covers: onlyOursTraps(/a string is not valid Unicode/, /string/),
  },
  {
    reason: "`load_string_from_range`: a byte order mark is a character; jco's code drops it",
    example: { type: { kind: "string" }, encoding: "utf16", bytes: [...STRING_OF_TWO, 0xff, 0xfe, 0x61, 0] },
    ours: "value",
    jco: "value",
    covers: ({ direction, type, ours, jco }) =>
      direction === "get" &&
      /string/.test(type) &&
      "value" in ours &&
      "value" in jco &&
      ours.value.includes("\ufeff"),
  },
  {
    reason: "`load_list_from_range`: a list out of bounds traps; jco's code cuts lists of numbers off",
    example: {
      type: { kind: "list", element: { kind: "u8" } },
      encoding: "utf8",
      bytes: [0, 1, 0, 0, 0, 0, 0, 8],
    },
    ours: "trap",
    jco: "value",
    covers: onlyOursTraps(/out of the bounds of memory/, /list<[suf]\d/),
  },
  {
    reason:
      "`store_string_copy`: `realloc` is called for an empty string, too; jco's code passes the address 1",
    example: { type: { kind: "string" }, encoding: "utf8", json: "" },
    ours: "value",
    jco: "value",
    covers: ({ direction, type, encoding, given }) =>
      direction === "put" && encoding === "utf8" && /string/.test(type) && given.includes('""'),
  },
];

/** Tools of fixtures that end in another way in jco's code, with the reason. The test fails if one does not any more. */
export const KNOWN_TOOL_DIFFERENCES: Readonly<Record<string, string>> = {
  http_amplify:
    "what jco's code passes to an import is only charged to the memory limit, not to the output limit",
};
