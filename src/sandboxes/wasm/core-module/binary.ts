import { concatInSlices } from "../../../base/collected-bytes.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";

/** The kinds of exports (core specification, section 5.5.10). */
export const EXPORTED = { table: 1, memory: 2, global: 3 } as const;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Reads the primitives of WebAssembly's binary format from untrusted bytes. */
export class BinaryReader {
  readonly #bytes: Uint8Array;
  readonly #tooShort: string;
  #at: number;

  /** @param tooShort What the error says if there are fewer bytes than are read. */
  constructor(bytes: Uint8Array, at = 0, tooShort = "the component is truncated") {
    this.#bytes = bytes;
    this.#tooShort = tooShort;
    this.#at = at;
  }

  /** Index of the next byte. */
  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    const value = this.peek();
    this.#at++;
    return value;
  }

  /** Returns the next byte without consuming it. */
  peek(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new ToolPreparationError(this.#tooShort);
    return value;
  }

  /** Reads an unsigned 32-bit integer in LEB128 (core specification, section 5.2.2). */
  u32(): number {
    let value = 0;
    for (let weight = 1; ; weight *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * weight;
      if (value > 0xffff_ffff || weight > 2 ** 28) {
        throw new ToolPreparationError("the component has an integer that is too long");
      }
      if ((byte & 0x80) === 0) return value;
    }
  }

  /** Reads bytes without copying them. */
  bytes(count: number): Uint8Array {
    const start = this.#at;
    this.skip(count);
    return this.#bytes.subarray(start, this.#at);
  }

  /** Skips a byte, an integer of up to 32 bits in LEB128 and another byte, if these are the next ones. */
  skipConstant(before: number, after: number): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    if (bytes[at++] !== before) return false;
    const from = at;
    while ((bytes[at++] ?? 0) >= 0x80);
    if (at - from > 5 || bytes[at++] !== after) return false;
    this.#at = at;
    return true;
  }

  skip(count: number): void {
    if (this.#at + count > this.#bytes.length) throw new ToolPreparationError(this.#tooShort);
    this.#at += count;
  }

  /** Reads a name: its length, then its bytes in UTF-8. */
  name(): string {
    const bytes = this.bytes(this.u32());
    try {
      return UTF8.decode(bytes);
    } catch {
      throw new ToolPreparationError("the component has a name that is not valid UTF-8");
    }
  }

  /** Calls `read` once for each item of a vector. Returns the number of items. */
  vector(read: (index: number) => void): number {
    const count = this.u32();
    for (let index = 0; index < count; index++) read(index);
    return count;
  }

  /**
   * Returns a reader of at most `most` of the next bytes, with its own error message if they do not suffice.
   */
  part(most: number, tooShort: string): BinaryReader {
    const rest = this.rest();
    return rest.length <= most
      ? new BinaryReader(rest)
      : new BinaryReader(rest.subarray(0, most), 0, tooShort);
  }

  /** Returns the unread bytes without copying them. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }
}

/** A section of a component or of a core module. */
export interface Section {
  readonly id: number;
  /** Its content. */
  readonly body: Uint8Array;
  /** Where it is in the binary, with its id and size. */
  readonly start: number;
  readonly end: number;
}

/** The size of the magic, version and layer at the start of every component and core module. */
export const PREAMBLE_BYTES = 8;

/** The ids of a core module's sections (core specification, section 5.5.2). */
export const CORE_SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
  tag: 13,
} as const;

/** The ids of a component's sections (component model, `Binary.md`). */
export const COMPONENT_SECTION = {
  custom: 0,
  coreModule: 1,
  coreInstance: 2,
  component: 4,
  instance: 5,
  alias: 6,
  type: 7,
  canon: 8,
  start: 9,
  import: 10,
  export: 11,
  value: 12,
} as const;

/**
 * The custom sections of core modules that have a meaning here: with this name, or with a name that begins
 * like this.
 */
const NAME = "name";
const POSITIONS = "metadata.code.";

/** Reading this many sections takes a few milliseconds. Compilers write up to some hundreds. */
const MAX_SECTIONS = 250_000;

/**
 * Returns the sections of a component or of a core module, in order; of the custom sections only those that have a
 * meaning for code: names, and what is about positions in it.
 *
 * @throws {ToolPreparationError} if it is truncated, or has too many.
 */
export function* sections(binary: Uint8Array): Generator<Section, void, undefined> {
  const reader = new BinaryReader(binary, PREAMBLE_BYTES);
  for (let count = 0; !reader.isAtEnd; count++) {
    if (count === MAX_SECTIONS) {
      throw new ToolPreparationError(
        `the component has more than ${MAX_SECTIONS} sections: remove custom ones, for example with 'wasm-tools strip'`,
      );
    }
    const start = reader.at;
    const id = reader.byte();
    const size = reader.u32();
    const from = reader.at;
    reader.skip(size);
    if (id === CORE_SECTION.custom && !hasMeaning(binary, from)) continue;
    yield { id, body: binary.subarray(from, reader.at), start, end: reader.at };
  }
}

/** Whether a custom section whose name is at a position is about code. Names are short: their length has one byte. */
function hasMeaning(binary: Uint8Array, at: number): boolean {
  const first = binary[at + 1];
  if (first !== NAME.charCodeAt(0) && first !== POSITIONS.charCodeAt(0)) return false;
  const name = Buffer.from(binary.subarray(at + 1, at + 1 + POSITIONS.length)).toString("latin1");
  return name === POSITIONS || (binary[at] === NAME.length && name.startsWith(NAME));
}

const COMPONENT = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00);
const CORE_MODULE = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/** Whether a binary starts like a component. */
export function isComponent(binary: Uint8Array): boolean {
  return startsWith(binary, COMPONENT);
}

/** Whether a binary starts like a core module. */
export function isCoreModule(binary: Uint8Array): boolean {
  return startsWith(binary, CORE_MODULE);
}

function startsWith(binary: Uint8Array, preamble: Uint8Array): boolean {
  return binary.length >= preamble.length && preamble.every((byte, index) => binary[index] === byte);
}

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

/** Encodes an export. */
export function exportBytes(name: string, kind: number, index: number): readonly number[] {
  return [...nameBytes(name), kind, ...u32Bytes(index)];
}

/** The order of sections (core specification, section 5.5.17). Custom sections can be anywhere. */
const ORDER: readonly number[] = [
  CORE_SECTION.type,
  CORE_SECTION.import,
  CORE_SECTION.function,
  CORE_SECTION.table,
  CORE_SECTION.memory,
  CORE_SECTION.tag,
  CORE_SECTION.global,
  CORE_SECTION.export,
  CORE_SECTION.start,
  CORE_SECTION.element,
  CORE_SECTION.dataCount,
  CORE_SECTION.code,
  CORE_SECTION.data,
];

/** Items to append to a section. They do not change the indices of the module's own items. */
export interface AppendedItems {
  readonly count: number;
  readonly bytes: readonly number[];
}

const NO_ITEMS = Uint8Array.of(0);

/**
 * Changes sections of a core module.
 *
 * @param replace Returns the parts that replace a section, an empty list to remove it, or `undefined` to keep
 *   it. Not called for custom sections without a meaning here.
 * @param append Items to append, by the section's id. A missing section is added.
 * @param last Returns the parts to append at the end.
 */
export function changeSections(
  binary: Uint8Array,
  replace: (section: Section) => readonly Uint8Array[] | undefined,
  append: ReadonlyMap<number, AppendedItems>,
  last: () => readonly Uint8Array[] = () => [],
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const left = ORDER.filter((id) => append.has(id));
  const addTo = (items: Uint8Array): void => {
    const id = left.shift() ?? 0;
    parts.push(withItems(id, items, append.get(id)));
  };
  /** Up to where the original was taken. Sections that stay are copied together. */
  let taken = 0;
  const takeUntil = (end: number): void => {
    if (end > taken) parts.push(binary.subarray(taken, end));
  };
  const addMissing = (before: number, at: number): void => {
    while (left[0] !== undefined && ORDER.indexOf(left[0]) < before) {
      takeUntil(at);
      taken = Math.max(taken, at);
      addTo(NO_ITEMS);
    }
  };
  for (const section of sections(binary)) {
    const { id, start, end, body } = section;
    addMissing(ORDER.indexOf(id), start);
    const isAppendedTo = id === left[0];
    const replaced = isAppendedTo ? undefined : replace(section);
    if (!isAppendedTo && replaced === undefined) continue;
    takeUntil(start);
    taken = end;
    if (replaced === undefined) addTo(body);
    else parts.push(...replaced);
  }
  addMissing(ORDER.length, binary.length);
  takeUntil(binary.length);
  parts.push(...last());
  return concatInSlices(parts);
}

function withItems(
  id: number,
  items: Uint8Array,
  appended: AppendedItems = { count: 0, bytes: [] },
): Uint8Array {
  const reader = new BinaryReader(items);
  const count = reader.u32();
  return sectionBytes(id, u32Bytes(count + appended.count), reader.rest(), appended.bytes);
}
