/** The most bytes of a character besides its first one. */
const MAX_CONTINUATION = 3;

/** Returns bytes without the first ones of a character whose others were cut off. */
export function wholeEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= MAX_CONTINUATION && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    return lengthOf(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Returns bytes without the last ones of a character whose first one was cut off. */
export function wholeStart(bytes: Buffer): Buffer {
  let from = 0;
  while (from < MAX_CONTINUATION && from < bytes.length && isContinuation(bytes[from] as number)) from++;
  return bytes.subarray(from);
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** The bytes of a character, by its first one. */
function lengthOf(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
