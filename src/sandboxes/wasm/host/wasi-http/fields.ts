import { HEADER_VALUE, HOP_BY_HOP_HEADERS, isToken } from "../../../../base/http-syntax.ts";
import type { LiftBudget } from "../../abi/lift-budget.ts";
import type { ComponentValue } from "../../abi/value.ts";
import { requireBytes } from "../interface-members.ts";
import { ReservedMemory } from "./body-budget.ts";

/** The maximum length of a header name, in characters. */
const MAX_NAME_LENGTH = 256;

/** The size of a header in V8's heap without its characters, in bytes. */
const FIELD_BYTES = 160;

/** A header as the component or the response has it, with the value decoded as Latin-1. */
export type Field = readonly [name: string, value: string];

// Not public methods, because a component could call them by name.
let read: (fields: Fields) => readonly Field[];
let freeze: (fields: Fields) => void;
let fill: (fields: Fields, received: readonly Field[]) => void;
let share: (fields: Fields) => Fields;

/** `wasi:http/types`' resource for headers and trailers. */
export class Fields {
  static {
    read = (fields) => fields.#fields;
    freeze = (fields) => {
      fields.#isFrozen = true;
    };
    fill = (fields, received) => {
      fields.#fields = [...received];
    };
    share = (fields) => {
      const shared = new Fields(fields.#memory);
      shared.#fields = fields.#fields;
      shared.#isFrozen = true;
      return shared;
    };
  }

  readonly #memory: LiftBudget;
  readonly #reserved: ReservedMemory;
  #fields: Field[] = [];
  #isFrozen = false;

  constructor(memory: LiftBudget) {
    this.#memory = memory;
    this.#reserved = new ReservedMemory(memory);
  }

  [Symbol.dispose](): void {
    this.#reserved.free();
  }

  static fromList(memory: LiftBudget, entries: readonly (readonly [string, Uint8Array])[]): Fields {
    const fields = new Fields(memory);
    for (const [name, value] of entries) fields.append(name, value);
    return fields;
  }

  get(name: string): readonly Uint8Array[] {
    return this.#named(name).map(([, value]) => bytesOf(value));
  }
  has(name: string): boolean {
    return this.#named(name).length > 0;
  }
  set(name: string, values: readonly Uint8Array[]): void {
    const fields = values.map((value) => checkField(name, value));
    this.#change();
    this.#remove(checkName(name));
    this.#add(fields);
  }
  delete(name: string): void {
    this.#change();
    this.#remove(checkName(name));
  }
  append(name: string, value: Uint8Array): void {
    const field = checkField(name, value);
    this.#change();
    this.#add([field]);
  }
  entries(): ComponentValue {
    return this.#fields.map(([name, value]) => [name, bytesOf(value)]);
  }
  clone(): Fields {
    const copy = new Fields(this.#memory);
    copy.#add(this.#fields);
    return copy;
  }

  #named(name: string): readonly Field[] {
    const lower = String(name).toLowerCase();
    return this.#fields.filter(([other]) => other.toLowerCase() === lower);
  }
  #remove(lower: string): void {
    const left = this.#fields.filter(([other]) => other.toLowerCase() !== lower);
    this.#fields = [];
    this.#reserved.free();
    this.#add(left);
  }
  #add(fields: readonly Field[]): void {
    this.#reserved.add(fields.reduce((sum, field) => sum + sizeOf(field), 0));
    for (const field of fields) this.#fields.push(field);
  }
  #change(): void {
    if (this.#isFrozen) throw { tag: "immutable" };
  }
}

/** Returns all fields in order, with unchanged names and values. */
export function readFields(fields: Fields): readonly Field[] {
  return read(fields);
}

/** Makes fields immutable. */
export function freezeFields(fields: Fields): void {
  freeze(fields);
}

/** Returns immutable fields that share the data of other fields, which must be immutable too. */
export function sharedFields(fields: Fields): Fields {
  return share(fields);
}

/** Returns the immutable fields of a response, which may include headers that a component must not set. */
export function receivedFields(memory: LiftBudget, received: readonly Field[]): Fields {
  const fields = new Fields(memory);
  fill(fields, received);
  freeze(fields);
  return fields;
}

/** Returns a valid name in lower case. Otherwise throws the variant `header-error`. */
function checkName(name: string): string {
  if (!isToken(name, MAX_NAME_LENGTH)) throw { tag: "invalid-syntax" };
  const lower = name.toLowerCase();
  if (HOP_BY_HOP_HEADERS.has(lower)) throw { tag: "forbidden" };
  return lower;
}

function checkField(name: string, value: Uint8Array): Field {
  checkName(name);
  const text = Buffer.from(requireBytes(value, "wasi:http/types")).toString("latin1");
  if (!HEADER_VALUE.test(text)) throw { tag: "invalid-syntax" };
  return [name, text];
}

/** A name can take two bytes for each character; a value is Latin-1. */
function sizeOf([name, value]: Field): number {
  return FIELD_BYTES + name.length * 2 + value.length;
}

function bytesOf(value: string): Uint8Array {
  return new Uint8Array(Buffer.from(value, "latin1"));
}
