/**
 * What V8's optimising compiler takes for instructions while it compiles a function, in bytes, as measured in functions
 * that consist of them (V8 14.6); calls by table or reference take up to twice as much. Core specification, section 5.4.
 */
const BYTES: readonly (readonly [from: number, to: number, bytes: number])[] = [
  [0x01, 0x01, 0],
  // Blocks, branches and calls, which split the code.
  [0x02, 0x06, 1_500],
  [0x0b, 0x0b, 100],
  [0x0c, 0x10, 1_500],
  [0x11, 0x15, 2_500],
  [0x18, 0x19, 1_500],
  [0x1f, 0x1f, 1_500],
  // Constants and local variables only name values.
  [0x1a, 0x1a, 0],
  [0x20, 0x22, 100],
  [0x41, 0x44, 100],
  [0x23, 0x26, 400],
  // Divisions and conversions check their operands, each with branches.
  [0x6d, 0x70, 3_500],
  [0x7f, 0x82, 3_500],
  [0xa8, 0xab, 3_000],
  [0xae, 0xb1, 3_000],
];

const OTHER_BYTES = 600;
const PREFIXED_BYTES = 1_000;

/** The prefix of conversions that saturate, up to a number. */
const SATURATING_PREFIX = 0xfc;
const LAST_SATURATING = 7;
const SATURATING_BYTES = 10_000;

const BYTES_OF = Uint16Array.from({ length: 0x100 }, (_, code) => {
  return BYTES.find(([from, to]) => code >= from && code <= to)?.[2] ?? OTHER_BYTES;
});

/** Estimates what V8 takes to optimise an instruction, in bytes. */
export function optimiserBytes(code: number): number {
  if (code < BYTES_OF.length) return BYTES_OF[code] ?? OTHER_BYTES;
  const isSaturating = code >> 16 === SATURATING_PREFIX && (code & 0xffff) <= LAST_SATURATING;
  return isSaturating ? SATURATING_BYTES : PREFIXED_BYTES;
}
