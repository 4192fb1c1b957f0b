import { u32Bytes } from "../../../src/sandboxes/wasm/core-module/binary.ts";
import { IMMEDIATE, IMMEDIATES, PREFIXED } from "../../../src/sandboxes/wasm/core-module/instructions.ts";
import { type Code, coreModule, VALUE_TYPES } from "./core-module.ts";

/** An instruction with all that follows it, and the types that it takes and gives, as indices of `VALUE_TYPES`. */
export interface Opcode {
  readonly code: number;
  readonly bytes: Code;
  readonly params: readonly number[];
  readonly result: number | undefined;
}

/** What begins or ends blocks, or has a label: random functions have it in other ways. */
const STRUCTURE: readonly number[] = [0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x0b, 0x18, 0x19, 0x1f];

/** The variables of the function, which are read and written in other ways. */
const VARIABLES: readonly number[] = [0x20, 0x21, 0x22];

const MAX_PARAMS = 4;

const SMALL = { pages: 1, elements: 10, segmentElements: 10, segmentBytes: 10 };

/**
 * All instructions that `InstructionReader` knows, but for those of the structure, with each kind of what can follow
 * them. V8 tells which of them are valid, and their types.
 */
export function findOpcodes(): readonly Opcode[] {
  const found: Opcode[] = [];
  for (let first = 0; first < IMMEDIATES.length; first++) {
    if (STRUCTURE.includes(first) || VARIABLES.includes(first)) continue;
    const prefixed = PREFIXED.get(first);
    if (prefixed === undefined) {
      for (const each of immediates(IMMEDIATES[first])) add(found, first, [first, ...each]);
      continue;
    }
    for (const [number, immediate] of prefixed.entries()) {
      for (const each of immediates(immediate)) {
        add(found, first * 0x1_0000 + number, [first, ...u32Bytes(number), ...each]);
      }
    }
  }
  return found;
}

/** What may follow an instruction. */
function immediates(kind: number = IMMEDIATE.unsupported): readonly Code[] {
  switch (kind) {
    case IMMEDIATE.none:
      return [[]];
    case IMMEDIATE.index:
      return [[0], [1], [2], [3], [4], [5]];
    case IMMEDIATE.twoIndices:
      return [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
      ];
    case IMMEDIATE.integer:
      return [[0], [1], [0x7f], [0x80, 0x80, 4]];
    case IMMEDIATE.byte:
      return [[0], [1]];
    case IMMEDIATE.float32:
      return [
        [0, 0, 0x80, 0x3f],
        [0, 0, 0xc0, 0x7f],
      ];
    case IMMEDIATE.float64:
      return [
        [0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
        [0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
      ];
    case IMMEDIATE.vector:
      return [Array.from({ length: 16 }, (_, index) => index)];
    case IMMEDIATE.labels:
      return [[2, 0, 0, 0]];
    case IMMEDIATE.valueTypes:
      return VALUE_TYPES.map((type) => [1, ...type]);
    case IMMEDIATE.heapType:
      return [[0x70], [0x6f], [0x6e], [0x6c], [0x69], [0]];
    case IMMEDIATE.castLabel:
      return [[3, 0, 0x6e, 0x6c]];
    case IMMEDIATE.memory:
      return [
        [0, 8],
        [1, 8],
        [2, 8],
        [3, 8],
        [4, 8],
      ];
    case IMMEDIATE.memoryAndLane:
      return [[0, 8, 1]];
    default:
      return [];
  }
}

function add(found: Opcode[], code: number, bytes: Code): void {
  // What gives nothing is found as giving `undefined`.
  const result = [undefined, ...VALUE_TYPES.keys()].find((type) => isValid([], bytes, type));
  const params: number[] = [];
  while (params.length < MAX_PARAMS && !isComplete(params, bytes, result)) {
    const next = [...VALUE_TYPES.keys()].find((type) => isValid([type, ...params], bytes, result));
    if (next === undefined) break;
    params.unshift(next);
  }
  if (isComplete(params, bytes, result)) found.push({ code, bytes, params, result });
}

/** Whether the instruction needs no more than these. */
function isComplete(params: readonly number[], bytes: Code, result: number | undefined): boolean {
  return validates([
    ...params.flatMap((type) => get(type)),
    ...bytes,
    ...(result === undefined ? [] : set(result)),
  ]);
}

/** Whether the instruction can take these as the last of its parameters, and give a result. */
function isValid(params: readonly number[], bytes: Code, result: number | undefined): boolean {
  const end = result === undefined ? [] : set(result);
  return validates([0x00, ...params.flatMap((type) => get(type)), ...bytes, ...end]);
}

function validates(body: Code): boolean {
  return WebAssembly.validate(coreModule([body, [], [], [], []], SMALL, false) as BufferSource);
}

/** Reads a variable of a type. */
export function get(type: number, second: number = 0): Code {
  return [0x20, 2 * type + second];
}

/** Sets one. */
export function set(type: number, second: number = 0): Code {
  return [0x21, 2 * type + second];
}
