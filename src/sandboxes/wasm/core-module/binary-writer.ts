/** Encodes an unsigned integer in LEB128 (core specification, section 5.2.2). */
export function u32Bytes(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? byte | 0x80 : byte);
  } while (rest > 0);
  return bytes;
}

/** Encodes a name: its length, then its bytes in UTF-8. */
export function nameBytes(name: string): readonly number[] {
  const bytes = Buffer.from(name);
  return [...u32Bytes(bytes.length), ...bytes];
}

/** Encodes a section: its id and size, then its content. */
export function sectionBytes(
  id: number,
  ...content: readonly (Uint8Array | readonly number[])[]
): Uint8Array {
  const parts = content.map((part) => (part instanceof Uint8Array ? part : Uint8Array.from(part)));
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([Uint8Array.from([id, ...u32Bytes(size)]), ...parts]);
}

/** The kinds of exports (core specification, section 5.5.10). */
export const EXPORTED = { table: 1, memory: 2, global: 3 } as const;

/** Encodes an export. */
export function exportBytes(name: string, kind: number, index: number): readonly number[] {
  return [...nameBytes(name), kind, ...u32Bytes(index)];
}
