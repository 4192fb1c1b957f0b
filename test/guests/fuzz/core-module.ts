import {
  CORE_SECTION,
  nameBytes,
  sectionBytes,
  u32Bytes,
} from "../../../src/sandboxes/wasm/core-module/binary.ts";

/** Code of WebAssembly in its binary form. */
export type Code = readonly number[];

/** The types of values. The variables 2n and 2n + 1 of a random function have the nth of them. */
export const VALUE_TYPES: readonly Code[] = [
  [0x7f],
  [0x7e],
  [0x7d],
  [0x7c],
  [0x7b],
  [0x70],
  [0x6f],
  [0x6e],
  [0x6d],
  [0x6c],
  [0x69],
  // A reference to a function of the type 0.
  [0x63, 0x00],
];

export const I32 = 0;
export const I64 = 1;

/** How many random functions there are. Their indices begin at 0. */
export const FUNCTIONS = 5;

/** How large things are in a module that runs, or in one that is only validated. */
export interface Sizes {
  readonly pages: number;
  readonly elements: number;
  readonly segmentElements: number;
  readonly segmentBytes: number;
}

const GUEST = "sandgate:tool/guest@0.1.0";

/**
 * A core module that can be the one of a component of the world `tool`. Its `call` runs the random functions.
 *
 * @param bodies Their code, without the variables in front and the `end` behind.
 * @param isEndless Whether it runs them again and again.
 */
export function coreModule(bodies: readonly Code[], sizes: Sizes, isEndless: boolean): Uint8Array {
  const type = (params: Code, results: Code): Code => [
    0x60,
    params.length,
    ...params,
    results.length,
    ...results,
  ];
  const types = [
    type([], []),
    type([0x7f, 0x7f, 0x7f, 0x7f], [0x7f]),
    type([], [0x7f]),
    type([0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7e], [0x7f]),
  ];
  const variables = [VALUE_TYPES.length, ...VALUE_TYPES.flatMap((each) => [2, ...each])];
  const round = bodies.flatMap((_, index) => [0x10, index]);
  const call = isEndless ? [0x03, 0x40, ...round, 0x0c, 0, 0x0b, 0x00] : [...round, 0x00];
  const functions = [
    ...bodies.map((body) => [...variables, ...body, 0x0b]),
    [0, 0x41, ...u32Bytes(1_024), 0x0b],
    [0, 0x00, 0x0b],
    [0, ...call, 0x0b],
  ];
  const own = bodies.length;
  const vector = (items: readonly Code[]): Code => [...u32Bytes(items.length), ...items.flat()];
  const indices = Array.from({ length: sizes.segmentElements }, (_, index) => index % own);
  return Buffer.concat([
    Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0),
    sectionBytes(CORE_SECTION.type, vector(types)),
    sectionBytes(CORE_SECTION.function, vector([...bodies.map(() => [0]), [1], [2], [3]])),
    sectionBytes(
      CORE_SECTION.table,
      vector([0x70, 0x70, 0x6f].map((element) => [element, 0, ...u32Bytes(sizes.elements)])),
    ),
    sectionBytes(CORE_SECTION.memory, vector([[0, ...u32Bytes(sizes.pages)]])),
    sectionBytes(CORE_SECTION.tag, vector([[0, 0]])),
    sectionBytes(CORE_SECTION.global, vector(GLOBALS)),
    sectionBytes(
      CORE_SECTION.export,
      vector([
        [...nameBytes("memory"), 2, 0],
        [...nameBytes("cabi_realloc"), 0, own],
        [...nameBytes(`${GUEST}#describe`), 0, own + 1],
        [...nameBytes(`${GUEST}#call`), 0, own + 2],
      ]),
    ),
    sectionBytes(CORE_SECTION.element, [
      2,
      1,
      0,
      ...vector(indices.map((index) => u32Bytes(index))),
      // Functions in the first table, so that calls by table find some.
      0,
      0x41,
      0,
      0x0b,
      ...vector(bodies.map((_, index) => u32Bytes(index))),
    ]),
    sectionBytes(CORE_SECTION.dataCount, [1]),
    sectionBytes(CORE_SECTION.code, vector(functions.map((body) => [...u32Bytes(body.length), ...body]))),
    sectionBytes(
      CORE_SECTION.data,
      [1, 1, ...u32Bytes(sizes.segmentBytes)],
      new Uint8Array(sizes.segmentBytes),
    ),
  ]);
}

/** One of each type of numbers, and references. */
const GLOBALS: readonly Code[] = [
  [0x7f, 1, 0x41, 0, 0x0b],
  [0x7e, 1, 0x42, 0, 0x0b],
  [0x7d, 1, 0x43, 0, 0, 0, 0, 0x0b],
  [0x7c, 1, 0x44, 0, 0, 0, 0, 0, 0, 0, 0, 0x0b],
  [0x70, 1, 0xd0, 0x70, 0x0b],
  [0x6f, 1, 0xd0, 0x6f, 0x0b],
];
