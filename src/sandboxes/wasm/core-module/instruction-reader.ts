import { ToolPreparationError } from "../../contract/sandbox.ts";
import { isHeapType, isReferencePrefix, isSimpleType } from "./definitions.ts";
import { describeUnsupported, IMMEDIATE, IMMEDIATES, PREFIXED } from "./instructions.ts";

/** The maximum size of an integer in LEB128, which has 64 bits, in bytes. */
const MAX_INTEGER_BYTES = 10;

/** The natural alignment of a vector, as a power of two. No access has a larger one. */
const MAX_ALIGNMENT = 4;

/** The kinds of catch clauses are 0 to 3; the first two name a tag. */
const LAST_CATCH_KIND = 3;
const LAST_CATCH_KIND_WITH_TAG = 1;

/** The types of blocks that have no index. */
export const NO_RESULT = -1;
export const ONE_RESULT = -2;

const EMPTY_BLOCK = 0x40;

/** The bit in the alignment of a memory access that is set if the index of a memory follows. */
const HAS_MEMORY_INDEX = 0x40;

/**
 * Reads the instructions of a function or of a constant expression one after another (core specification, section
 * 5.4), and finds the same boundaries as V8. Unknown instructions are refused, because the next one could begin
 * anywhere. A component can have millions of instructions, so reading one allocates nothing.
 */
export class InstructionReader {
  readonly #bytes: Uint8Array;
  #at: number;
  #end: number;
  #start: number;
  #code = 0;
  #first = 0;
  #second = 0;

  /** @param bytes The core module. Positions in errors count from its beginning. */
  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#start = start;
    this.#end = end;
  }

  /** Continues with the instructions between two positions. */
  moveTo(start: number, end: number): void {
    this.#at = start;
    this.#start = start;
    this.#end = end;
  }

  /** The instruction that was read, as in `INSTRUCTION`. */
  get code(): number {
    return this.#code;
  }

  /** Its index, if it has one; the number of labels for a branch by table. */
  get first(): number {
    return this.#first;
  }

  /** Its second index, if it has two; for a block, the index of its type, or {@link ONE_RESULT} or {@link NO_RESULT}. */
  get second(): number {
    return this.#second;
  }

  /** The position where it begins. */
  get start(): number {
    return this.#start;
  }

  /** The position where the next one begins. */
  get at(): number {
    return this.#at;
  }

  /**
   * Reads the next instruction.
   *
   * @returns `false` at the end of the code.
   * @throws {ToolPreparationError} if it is not supported or incomplete.
   */
  next(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    if (at >= this.#end) return false;
    this.#start = at;
    const code = bytes[at++] as number;
    this.#code = code;
    // Nearly all instructions have one of these forms. Reading past the last byte gives `undefined`, which ends loops.
    switch (IMMEDIATES[code]) {
      case IMMEDIATE.none:
        break;
      case IMMEDIATE.index: {
        const index = bytes[at++] as number;
        if (index >= 0x80) {
          this.#at = at - 1;
          this.#first = this.#u32();
          at = this.#at;
        } else this.#first = index;
        break;
      }
      case IMMEDIATE.integer: {
        const from = at;
        while ((bytes[at++] as number) >= 0x80);
        if (at - from > MAX_INTEGER_BYTES) this.#refuse("an integer is too long");
        break;
      }
      default:
        this.#at = at;
        this.#read(IMMEDIATES[code] as number);
        at = this.#at;
    }
    this.#at = at;
    if (at > this.#end) this.#refuse("an instruction is cut off");
    return true;
  }

  /**
   * Skips the variables that a function declares before its instructions (section 5.5.13).
   *
   * @returns the number of variables.
   * @throws {ToolPreparationError} if a type is not supported.
   */
  locals(): number {
    let count = 0;
    for (let left = this.localGroups(); left > 0; left--) {
      count += this.#u32();
      this.#valueType();
    }
    return count;
  }

  /** Reads the number of groups in which a function declares its variables. */
  localGroups(): number {
    return this.#u32();
  }

  /** Returns the unsigned value of the `i32.const` at a position that was read before. */
  constantAt(position: number): number {
    let value = 0;
    for (let at = position + 1, shift = 0; ; at++, shift += 7) {
      const byte = this.#bytes[at] as number;
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if (shift < 28 && (byte & 0x40) !== 0) value |= -1 << (shift + 7);
      return value >>> 0;
    }
  }

  #read(immediate: number): void {
    switch (immediate) {
      case IMMEDIATE.index:
        this.#first = this.#u32();
        return;
      case IMMEDIATE.twoIndices:
        this.#first = this.#u32();
        this.#second = this.#u32();
        return;
      case IMMEDIATE.integer:
        this.#skipInteger();
        return;
      case IMMEDIATE.byte:
        this.#at += 1;
        return;
      case IMMEDIATE.float32:
        this.#at += 4;
        return;
      case IMMEDIATE.float64:
        this.#at += 8;
        return;
      case IMMEDIATE.vector:
        this.#at += 16;
        return;
      case IMMEDIATE.blockType:
        this.#blockType();
        return;
      case IMMEDIATE.tryTable:
        this.#blockType();
        this.#catchClauses();
        return;
      case IMMEDIATE.labels:
        this.#labels();
        return;
      case IMMEDIATE.valueTypes:
        for (let left = this.#u32(); left > 0; left--) this.#valueType();
        return;
      case IMMEDIATE.heapType:
        this.#heapType();
        return;
      case IMMEDIATE.castLabel:
        this.#at += 1;
        this.#u32();
        this.#heapType();
        this.#heapType();
        return;
      case IMMEDIATE.memory:
        this.#memory();
        return;
      case IMMEDIATE.memoryAndLane:
        this.#memory();
        this.#at += 1;
        return;
      case IMMEDIATE.prefix: {
        const prefix = this.#code;
        const behind = this.#u32();
        this.#code = prefix * 0x1_0000 + behind;
        this.#read(PREFIXED.get(prefix)?.[behind] ?? IMMEDIATE.unsupported);
        return;
      }
      case IMMEDIATE.unsupported:
        this.#refuse(`the instruction ${describeUnsupported(this.#code)} is not supported`);
    }
  }

  /** A non-negative signed number is an index. Negative ones stand for a type in one byte, or for no type. */
  #blockType(): void {
    const first = this.#peek();
    this.#second = first === EMPTY_BLOCK ? NO_RESULT : ONE_RESULT;
    if (isReferencePrefix(first)) this.#valueType();
    else if (first >= 0x40 && first < 0x80) this.#at++;
    else {
      const at = this.#at;
      this.#skipInteger();
      const end = this.#at;
      this.#second = 0;
      for (let each = end - 1; each >= at; each--)
        this.#second = this.#second * 0x80 + ((this.#bytes[each] as number) & 0x7f);
    }
  }

  /** The clauses of `try_table`: `catch` and `catch_ref` name a tag, and each of the four names a label. */
  #catchClauses(): void {
    const count = this.#u32();
    for (let left = count; left > 0; left--) {
      const kind = this.#byte();
      if (kind > LAST_CATCH_KIND) this.#refuse("a catch clause has an unknown form");
      if (kind <= LAST_CATCH_KIND_WITH_TAG) this.#u32();
      this.#u32();
    }
    this.#first = count;
  }

  #labels(): void {
    const count = this.#u32() + 1;
    for (let left = count; left > 0; left--) this.#u32();
    this.#first = count;
  }

  #memory(): void {
    const alignment = this.#u32();
    if ((alignment & ~HAS_MEMORY_INDEX) > MAX_ALIGNMENT) this.#refuse("a memory access has an unknown form");
    if (alignment >= HAS_MEMORY_INDEX) this.#u32();
    // V8 reads offsets of up to 64 bits for every memory.
    this.#skipInteger();
  }

  #valueType(): void {
    const type = this.#byte();
    if (isReferencePrefix(type)) this.#heapType();
    else if (!isSimpleType(type)) this.#refuse("a type is not supported");
  }

  #heapType(): void {
    const first = this.#peek();
    const from = this.#at;
    this.#skipInteger();
    // One byte stands for an abstract type or an index; more bytes for an index.
    if (this.#at - from === 1 && !isHeapType(first)) this.#refuse("a type is not supported");
  }

  /** An integer in LEB128 ends at the first byte whose highest bit is not set, whatever its type. */
  #skipInteger(): void {
    const from = this.#at;
    while (this.#byte() >= 0x80);
    if (this.#at - from > MAX_INTEGER_BYTES) this.#refuse("an integer is too long");
  }

  #u32(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let weight = 0x80; ; weight *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * weight;
      if (value > 0xffff_ffff || weight > 2 ** 28) this.#refuse("an integer is too long");
      if (byte < 0x80) return value;
    }
  }

  #peek(): number {
    if (this.#at >= this.#end) this.#refuse("an instruction is cut off");
    return this.#bytes[this.#at] as number;
  }

  #byte(): number {
    const byte = this.#peek();
    this.#at++;
    return byte;
  }

  #refuse(what: string): never {
    throw new ToolPreparationError(`in a core module, at its byte ${this.#start}, ${what}`);
  }
}
