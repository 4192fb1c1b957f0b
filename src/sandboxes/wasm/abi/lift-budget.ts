import { fieldsOf, type ValueType } from "../linking/value-type.ts";

/** A component passed more data to the host than it may. */
export class LiftBudgetError extends Error {
  override readonly name = "LiftBudgetError";
  /** The limit of the call that was exceeded. */
  readonly limit: "memoryBytes" | "outputBytes";

  constructor(limit: "memoryBytes" | "outputBytes") {
    super();
    this.limit = limit;
  }
}

/**
 * The maximum number of items of a list or a table that the host makes for a component, except for lists of bytes. V8
 * ends the process, not only the thread, if an array that grows does not fit in the thread's heap.
 */
export const MAX_ITEMS = 1_000_000;

/** @throws {LiftBudgetError} if there are too many items. */
export function checkItems(count: number): void {
  if (count > MAX_ITEMS) throw new LiftBudgetError("memoryBytes");
}

/** Limits of a {@link LiftBudget}. */
export interface LiftLimits {
  /** The maximum size of all lifted values at a time, in bytes. */
  readonly memoryBytes: number;
  /** The maximum length of the values of one crossing, as a lower bound of their JSON text in bytes. */
  readonly textBytes: number;
}

/**
 * Limits the memory that a component can make the host allocate by passing values to it. The size of the component's
 * memories does not limit it: a list whose items all point to the same bytes is small in the component's memory but can
 * be huge on the host. Values are charged before they are allocated.
 */
export class LiftBudget {
  #limits: LiftLimits;
  #crossingBytes = 0;
  #reservedBytes = 0;
  #textBytes = 0;

  constructor(limits: LiftLimits) {
    this.#limits = limits;
  }

  /** Starts a call with new limits. Reserved data stays charged. */
  allow(limits: LiftLimits): void {
    this.#limits = limits;
    this.#crossingBytes = 0;
    this.#textBytes = 0;
  }

  /** The memory limit of the current call, in bytes. */
  get memoryBytes(): number {
    return this.#limits.memoryBytes;
  }

  /** Starts a crossing: a call or a return that passes values to the host. Returns what to pass to {@link end}. */
  begin(): number {
    this.#textBytes = 0;
    return this.#crossingBytes;
  }

  /** Ends a crossing, the values of which are no longer used. */
  end(begun: number): void {
    this.#crossingBytes = begun;
  }

  /**
   * Charges values that are about to be allocated, until their crossing ends.
   *
   * @param textBytes The minimum length of their JSON text in bytes.
   * @throws {LiftBudgetError} if a limit is exceeded.
   */
  charge(bytes: number, textBytes = 0): void {
    this.#crossingBytes += bytes;
    if (this.#crossingBytes + this.#reservedBytes > this.#limits.memoryBytes) {
      throw new LiftBudgetError("memoryBytes");
    }
    this.#textBytes += textBytes;
    if (this.#textBytes > this.#limits.textBytes) throw new LiftBudgetError("outputBytes");
  }

  /**
   * Charges data that outlives the crossing, until it is released.
   *
   * @throws {LiftBudgetError} if the memory limit is exceeded.
   */
  reserve(bytes: number): void {
    this.#reservedBytes += bytes;
    this.charge(0);
  }

  /** Releases reserved bytes. */
  release(bytes: number): void {
    this.#reservedBytes -= bytes;
  }

  /** Releases everything, because the instance and its resources are gone. */
  reset(): void {
    this.#crossingBytes = 0;
    this.#reservedBytes = 0;
  }
}

/** An array in V8 without its items, and its part of what V8 has not collected yet. */
const ARRAY_BYTES = 88;

/** A typed array in V8 with its buffer, and another one to convert it to text; without its bytes. */
export const TYPED_ARRAY_BYTES = 512;

/** An object in V8 without its fields, and its part of what V8 has not collected yet. */
const OBJECT_BYTES = 128;

const SLOT_BYTES = 8;

/** An array that was filled item by item has up to this many unused slots, plus half of its length. */
const SPARE_SLOTS = 17;

/** V8 stores an object with more fields than this as a dictionary. */
const MAX_FAST_FIELDS = 16;

const DICTIONARY_FIELD_BYTES = 96;

const sizes = new WeakMap<ValueType, number>();

/**
 * Returns an upper bound of what a value of a type takes in V8's heap and as JSON text together, in bytes. Not included
 * are the characters of strings, the items of lists and the payloads of cases, which are charged when they are read.
 */
export function liftedSize(type: ValueType): number {
  const known = sizes.get(type);
  if (known !== undefined) return known;
  const size = computeSize(type);
  sizes.set(type, size);
  return size;
}

/** Scalars take a slot and their text. Those that do not fit in a slot take a heap object as well. */
function computeSize(type: ValueType): number {
  switch (type.kind) {
    case "bool":
    case "s8":
    case "u8":
    case "s16":
    case "u16":
      return SLOT_BYTES + 8;
    case "s32":
    case "u32":
      return SLOT_BYTES + 28;
    case "f32":
    case "f64":
      return SLOT_BYTES + 40;
    case "s64":
    case "u64":
      // The digits of a large integer become a string.
      return SLOT_BYTES + 88;
    case "char":
      return SLOT_BYTES + 40;
    case "string":
      return SLOT_BYTES + 36;
    case "list":
      return SLOT_BYTES + (type.element.kind === "u8" ? TYPED_ARRAY_BYTES : ARRAY_BYTES);
    case "tuple":
      return SLOT_BYTES + ARRAY_BYTES + sumOf(fieldsOf(type) ?? []);
    case "record":
      return SLOT_BYTES + objectSize(type.fields.map(({ name }) => name)) + sumOf(fieldsOf(type) ?? []);
    case "enum":
      return SLOT_BYTES + longestText(type.names);
    case "flags":
      return (
        SLOT_BYTES +
        ARRAY_BYTES +
        SLOT_BYTES * (SPARE_SLOTS + type.names.length / 2) +
        type.names.reduce((sum, name) => sum + SLOT_BYTES + textOf(name), 0)
      );
    case "option":
      return SLOT_BYTES + (type.some.kind === "option" ? objectSize(["some"]) : 0);
    case "result":
      // `{ tag, val }`, and `{ ok }` or `{ err }` for JSON.
      return SLOT_BYTES + objectSize(["tag", "val"]) + objectSize(["err"]);
    case "variant":
      return SLOT_BYTES + objectSize(["tag", "val"]) + longestText(type.cases.map(({ name }) => name));
    case "own":
    case "borrow":
    case "unsupported":
      return SLOT_BYTES + 8;
  }
}

function objectSize(names: readonly string[]): number {
  const text = names.reduce((sum, name) => sum + textOf(name), 0);
  const isDictionary = names.length > MAX_FAST_FIELDS;
  return OBJECT_BYTES + text + names.length * (isDictionary ? DICTIONARY_FIELD_BYTES : SLOT_BYTES);
}

/** The length of a name in JSON text, with quotes, colon and comma. */
function textOf(name: string): number {
  return name.length + 4;
}

function longestText(names: readonly string[]): number {
  return names.reduce((longest, name) => Math.max(longest, textOf(name)), 0);
}

function sumOf(types: readonly ValueType[]): number {
  return types.reduce((sum, type) => sum + liftedSize(type), 0);
}
