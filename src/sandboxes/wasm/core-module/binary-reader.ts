import { ToolPreparationError } from "../../contract/sandbox.ts";

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Reads the primitives of WebAssembly's binary format from untrusted bytes. */
export class BinaryReader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
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
    if (value === undefined) throw new ToolPreparationError("the component is truncated");
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
    const end = this.#at + count;
    if (end > this.#bytes.length) {
      throw new ToolPreparationError("the component is truncated");
    }
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
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
  /** The whole section, with id and size. */
  readonly whole: Uint8Array;
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

/** Returns the sections of a component or of a core module, in order. */
export function* sections(binary: Uint8Array): Generator<Section, void, undefined> {
  const reader = new BinaryReader(binary, PREAMBLE_BYTES);
  while (!reader.isAtEnd) {
    const start = reader.at;
    const id = reader.byte();
    const body = reader.bytes(reader.u32());
    yield { id, body, whole: binary.subarray(start, reader.at) };
  }
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
