import type { BinaryReader } from "./binary-reader.ts";

/** Value types of one byte: numbers, vectors and the two plain references (core specification, section 5.3). */
const SIMPLE_TYPES: readonly number[] = [0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f];

/** Instructions that others ask for by name (section 5.4). Those with a prefix have it above 16 bits. */
export const INSTRUCTION = {
  end: 0x0b,
  call: 0x10,
  tableSet: 0x26,
  dataDrop: 0xfc_0009,
  tableInit: 0xfc_000c,
  elementDrop: 0xfc_000d,
  tableCopy: 0xfc_000e,
  tableGrow: 0xfc_000f,
  tableFill: 0xfc_0011,
} as const;

/**
 * Reads past the variables that a function declares before its instructions (section 5.5.13).
 *
 * @returns `false` where their types are not known here: one of more than one byte would shift all that follows.
 */
export function skipLocals(reader: BinaryReader): boolean {
  for (let left = reader.u32(); left > 0; left--) {
    reader.u32();
    if (!SIMPLE_TYPES.includes(reader.byte())) return false;
  }
  return true;
}

const PREFIX = { bulk: 0xfc, vector: 0xfd } as const;

/** What stands behind an instruction. */
type Immediates = (reader: BinaryReader) => boolean | undefined;

/**
 * Reads one instruction and what belongs to it (section 5.4).
 *
 * @returns which one it is; `undefined` for one that is not known here: where the next one begins is not known either.
 */
export function readInstruction(reader: BinaryReader): number | undefined {
  const opcode = reader.byte();
  if (opcode === PREFIX.bulk || opcode === PREFIX.vector) {
    const behind = reader.u32();
    const skip = opcode === PREFIX.bulk ? BULK[behind] : VECTOR[behind];
    return skip === undefined || skip(reader) === false ? undefined : opcode * 0x1_0000 + behind;
  }
  const skip = PLAIN[opcode];
  return skip === undefined || skip(reader) === false ? undefined : opcode;
}

const none: Immediates = () => undefined;
const one: Immediates = (reader) => void reader.u32();
const two: Immediates = (reader) => {
  reader.u32();
  reader.u32();
};
const bytes =
  (count: number): Immediates =>
  (reader) =>
    void reader.bytes(count);
/** An integer, or the index of a type. */
const integer: Immediates = (reader) => {
  while ((reader.byte() & 0x80) !== 0);
};
/** A block's type: none, one value, or the index of a function type. */
const blockType: Immediates = (reader) => {
  const first = reader.peek();
  const isReference = first === 0x63 || first === 0x64;
  integer(reader);
  return !isReference;
};
const labels: Immediates = (reader) => {
  reader.vector(() => reader.u32());
  reader.u32();
};
const types: Immediates = (reader) => {
  let isKnown = true;
  reader.vector(() => {
    isKnown &&= SIMPLE_TYPES.includes(reader.byte());
  });
  return isKnown;
};
/** Alignment, which may say that the index of a memory follows, and offset. */
const memoryArgument: Immediates = (reader) => {
  if (reader.u32() >= 0x40) reader.u32();
  reader.u32();
};
const lane: Immediates = (reader) => {
  memoryArgument(reader);
  reader.byte();
};

function table(rows: readonly (readonly [from: number, to: number, skip: Immediates])[]): Immediates[] {
  const filled: Immediates[] = [];
  for (const [from, to, skip] of rows) for (let code = from; code <= to; code++) filled[code] = skip;
  return filled;
}

const PLAIN: readonly (Immediates | undefined)[] = table([
  [0x00, 0x01, none],
  [0x02, 0x04, blockType],
  [0x05, 0x05, none],
  [0x0b, 0x0b, none],
  [0x0c, 0x0d, one],
  [0x0e, 0x0e, labels],
  [0x0f, 0x0f, none],
  [0x10, 0x10, one],
  [0x11, 0x11, two],
  [0x12, 0x12, one],
  [0x13, 0x13, two],
  [0x14, 0x15, one],
  [0x1a, 0x1b, none],
  [0x1c, 0x1c, types],
  [0x20, 0x26, one],
  [0x28, 0x3e, memoryArgument],
  [0x3f, 0x40, one],
  [0x41, 0x42, integer],
  [0x43, 0x43, bytes(4)],
  [0x44, 0x44, bytes(8)],
  [0x45, 0xc4, none],
  [0xd0, 0xd0, integer],
  [0xd1, 0xd1, none],
  [0xd2, 0xd2, one],
]);

const BULK: readonly (Immediates | undefined)[] = table([
  [0, 7, none],
  [8, 8, two],
  [9, 9, one],
  [10, 10, two],
  [11, 11, one],
  [12, 12, two],
  [13, 13, one],
  [14, 14, two],
  [15, 17, one],
]);

const VECTOR: readonly (Immediates | undefined)[] = table([
  [0, 275, none],
  [0, 11, memoryArgument],
  [12, 13, bytes(16)],
  [21, 34, bytes(1)],
  [84, 91, lane],
  [92, 93, memoryArgument],
]);
