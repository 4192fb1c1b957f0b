/**
 * What stands in the code of functions that only go forward (core specification, section 5.4): no loops and no calls,
 * and nothing whose time depends on a value.
 */
const FORWARD: readonly (readonly [from: number, to: number])[] = [
  // `unreachable`, `nop`, `block`.
  [0x00, 0x02],
  // `if`, `else`; `end`; branches; `return`.
  [0x04, 0x05],
  [0x0b, 0x0d],
  [0x0f, 0x0f],
  // `drop`, `select`; variables; loads and stores; the size of a memory; what computes numbers.
  [0x1a, 0x1b],
  [0x20, 0x24],
  [0x28, 0x3f],
  [0x41, 0xc4],
];

const IS_FORWARD = Uint8Array.from({ length: 0x100 }, (_, code) =>
  FORWARD.some(([from, to]) => code >= from && code <= to) ? 1 : 0,
);

/** Instructions that other code refers to (core specification, section 5.4). A prefix is stored above 16 bits. */
export const INSTRUCTION = {
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  try: 0x06,
  /** A clause of `try`. */
  catch: 0x07,
  throw: 0x08,
  end: 0x0b,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  callRef: 0x14,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  returnCallRef: 0x15,
  /** The end of a `try` that gives its exceptions to another one. */
  delegate: 0x18,
  tryTable: 0x1f,
  tableSet: 0x26,
  i32Const: 0x41,
  memoryInit: 0xfc_0008,
  dataDrop: 0xfc_0009,
  memoryCopy: 0xfc_000a,
  memoryFill: 0xfc_000b,
  tableInit: 0xfc_000c,
  elementDrop: 0xfc_000d,
  tableCopy: 0xfc_000e,
  tableGrow: 0xfc_000f,
  tableSize: 0xfc_0010,
  tableFill: 0xfc_0011,
  vectorConst: 0xfd_000c,
} as const;

/** What follows an instruction's opcode. */
export const IMMEDIATE = {
  none: 0,
  index: 1,
  twoIndices: 2,
  /** A number in LEB128. */
  integer: 3,
  byte: 4,
  float32: 5,
  float64: 6,
  vector: 7,
  blockType: 8,
  /** Labels, and a default label. */
  labels: 9,
  valueTypes: 10,
  heapType: 11,
  /** Flags, a label and two heap types. */
  castLabel: 12,
  /** Alignment, which says whether the index of a memory follows, and offset. */
  memory: 13,
  memoryAndLane: 14,
  /** The rest of the code: an integer. */
  prefix: 15,
  unsupported: 16,
  /** A block type, and the clauses of `try_table`. */
  tryTable: 17,
} as const;

type Row = readonly [from: number, to: number, immediate: number];

function table(size: number, rows: readonly Row[]): Uint8Array {
  const immediates = new Uint8Array(size).fill(IMMEDIATE.unsupported);
  for (const [from, to, immediate] of rows) immediates.fill(immediate, from, to + 1);
  return immediates;
}

/** By the first byte of an instruction. */
export const IMMEDIATES: Uint8Array = table(0x100, [
  [0x00, 0x01, IMMEDIATE.none],
  [0x02, 0x04, IMMEDIATE.blockType],
  [0x05, 0x05, IMMEDIATE.none],
  [0x06, 0x06, IMMEDIATE.blockType],
  [0x07, 0x09, IMMEDIATE.index],
  [0x0a, 0x0a, IMMEDIATE.none],
  [0x0b, 0x0b, IMMEDIATE.none],
  [0x0c, 0x0d, IMMEDIATE.index],
  [0x0e, 0x0e, IMMEDIATE.labels],
  [0x0f, 0x0f, IMMEDIATE.none],
  [0x10, 0x10, IMMEDIATE.index],
  [0x11, 0x11, IMMEDIATE.twoIndices],
  [0x12, 0x12, IMMEDIATE.index],
  [0x13, 0x13, IMMEDIATE.twoIndices],
  [0x14, 0x15, IMMEDIATE.index],
  [0x18, 0x18, IMMEDIATE.index],
  [0x19, 0x19, IMMEDIATE.none],
  [0x1a, 0x1b, IMMEDIATE.none],
  [0x1c, 0x1c, IMMEDIATE.valueTypes],
  [0x1f, 0x1f, IMMEDIATE.tryTable],
  [0x20, 0x26, IMMEDIATE.index],
  [0x28, 0x3e, IMMEDIATE.memory],
  [0x3f, 0x40, IMMEDIATE.index],
  [0x41, 0x42, IMMEDIATE.integer],
  [0x43, 0x43, IMMEDIATE.float32],
  [0x44, 0x44, IMMEDIATE.float64],
  [0x45, 0xc4, IMMEDIATE.none],
  [0xd0, 0xd0, IMMEDIATE.heapType],
  [0xd1, 0xd1, IMMEDIATE.none],
  [0xd2, 0xd2, IMMEDIATE.index],
  [0xd3, 0xd4, IMMEDIATE.none],
  [0xd5, 0xd6, IMMEDIATE.index],
  [0xfb, 0xfe, IMMEDIATE.prefix],
]);

/** Casts, conversions and small integers of references. What makes or reads structs and arrays is not supported. */
const REFERENCES = table(31, [
  [20, 23, IMMEDIATE.heapType],
  [24, 25, IMMEDIATE.castLabel],
  [26, 30, IMMEDIATE.none],
]);

/** Saturating truncation and bulk operations. */
const BULK = table(18, [
  [0, 7, IMMEDIATE.none],
  [8, 8, IMMEDIATE.twoIndices],
  [9, 9, IMMEDIATE.index],
  [10, 10, IMMEDIATE.twoIndices],
  [11, 11, IMMEDIATE.index],
  [12, 12, IMMEDIATE.twoIndices],
  [13, 13, IMMEDIATE.index],
  [14, 14, IMMEDIATE.twoIndices],
  [15, 17, IMMEDIATE.index],
]);

const VECTORS = table(276, [
  [0, 275, IMMEDIATE.none],
  [0, 11, IMMEDIATE.memory],
  [12, 13, IMMEDIATE.vector],
  [21, 34, IMMEDIATE.byte],
  [84, 91, IMMEDIATE.memoryAndLane],
  [92, 93, IMMEDIATE.memory],
]);

const ATOMICS = table(79, [
  [0, 2, IMMEDIATE.memory],
  [3, 3, IMMEDIATE.byte],
  [16, 78, IMMEDIATE.memory],
]);

/** Instructions with a prefix: by the prefix, then by the number that follows it. */
export const PREFIXED: ReadonlyMap<number, Uint8Array> = new Map([
  [0xfb, REFERENCES],
  [0xfc, BULK],
  [0xfd, VECTORS],
  [0xfe, ATOMICS],
]);

/** The names of instructions that are not supported. */
const UNSUPPORTED: readonly (readonly [from: number, names: string])[] = [
  [0xe0, "cont.new cont.bind suspend resume resume_throw resume_throw_ref switch"],
  [0xfb_0000, "struct.new struct.new_default struct.get struct.get_s struct.get_u struct.set"],
  [0xfb_0006, "array.new array.new_default array.new_fixed array.new_data array.new_elem"],
  [0xfb_000b, "array.get array.get_s array.get_u array.set array.len"],
  [0xfb_0010, "array.fill array.copy array.init_data array.init_elem"],
  [0xfc_0012, "memory.discard i64.add128 i64.sub128 i64.mul_wide_s i64.mul_wide_u"],
];

/** Describes an instruction that is not supported: `'throw' (0x08)`. */
export function describeUnsupported(code: number): string {
  const hex =
    code > 0xff ? `0x${(code >> 16).toString(16)} 0x${(code & 0xffff).toString(16)}` : hexByte(code);
  for (const [from, names] of UNSUPPORTED) {
    const name = names.split(" ")[code - from];
    if (name !== undefined) return `'${name}' (${hex})`;
  }
  return hex;
}

function hexByte(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0")}`;
}

/** Whether an instruction takes next to no time and does not run any other twice. Those with a prefix are not looked at. */
export function goesForward(code: number): boolean {
  return IS_FORWARD[code] === 1;
}
