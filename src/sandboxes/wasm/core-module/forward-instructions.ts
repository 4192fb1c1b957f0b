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

/** Whether an instruction takes next to no time and does not run any other twice. Those with a prefix are not looked at. */
export function goesForward(code: number): boolean {
  return IS_FORWARD[code] === 1;
}
