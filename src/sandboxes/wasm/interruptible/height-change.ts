type Row = readonly [from: number, to: number, change: number];

/** Values that instructions add to the stack, or take from it. What blocks and calls do depends on their types. */
const ROWS: readonly Row[] = [
  // if, throw_ref, br_if, br_table; call_indirect and call_ref take the function.
  [0x04, 0x04, -1],
  [0x0d, 0x0e, -1],
  [0x11, 0x11, -1],
  [0x14, 0x14, -1],
  // drop, select, select with a type.
  [0x1a, 0x1a, -1],
  [0x1b, 0x1c, -2],
  // local.get and local.set, global.get and global.set, table.set.
  [0x20, 0x20, 1],
  [0x21, 0x21, -1],
  [0x23, 0x23, 1],
  [0x24, 0x24, -1],
  [0x26, 0x26, -2],
  // Stores, memory.size, constants.
  [0x36, 0x3e, -2],
  [0x3f, 0x3f, 1],
  [0x41, 0x44, 1],
  // Comparisons of two numbers: i32, i64, f32 and f64.
  [0x46, 0x4f, -1],
  [0x51, 0x66, -1],
  // Operations on two numbers.
  [0x6a, 0x78, -1],
  [0x7c, 0x8a, -1],
  [0x92, 0x98, -1],
  [0xa0, 0xa6, -1],
  // ref.null, ref.func, ref.eq.
  [0xd0, 0xd0, 1],
  [0xd2, 0xd2, 1],
  [0xd3, 0xd3, -1],
];

/** By instructions of one byte: by how much they change the height of the stack, at most. */
export const HEIGHT_CHANGE: Int8Array = new Int8Array(0x100);
for (const [from, to, change] of ROWS) HEIGHT_CHANGE.fill(change, from, to + 1);
