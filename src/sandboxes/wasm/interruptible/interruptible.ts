import { setImmediate } from "node:timers/promises";
import {
  type AppendedItems,
  BinaryReader,
  CORE_SECTION,
  changeSections,
  nameBytes,
  type Section,
  sectionBytes,
  u32Bytes,
} from "../core-module/binary.ts";
import { type CoreModule, FUNCTION_NAMES, MODULE_NAME, NAME_SECTION } from "../core-module/core-module.ts";
import { type Code, EditedBytes, growthBy } from "./assembly.ts";
import { FunctionScanner } from "./function-scanner.ts";
import { Helpers } from "./helpers.ts";

/** After this many bytes, the event loop gets a turn. Reading them takes some milliseconds. */
const SLICE_BYTES = 128 * 1_024;

/** A function takes as long to read as this many bytes, however small it is. */
const FUNCTION_BYTES = 32;

/** An edit takes as long as reading this many bytes. */
const EDIT_BYTES = 16;

/** Where the content of a section is in its module. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Names of functions with consecutive indices. */
interface FunctionNames {
  readonly from: number;
  readonly names: readonly string[];
}

/** A core module that V8 can interrupt wherever it is. */
export interface InterruptibleModule {
  readonly binary: Uint8Array;
  /** Whether its code grows tables. */
  readonly growsTables: boolean;
  /** Whether V8 may take long to compile its code. */
  readonly isSlow: boolean;
  /** The global for the function that decides on exceptions; `undefined` if its code throws no exceptions. */
  readonly exceptionGlobal: number | undefined;
}

/** How much code V8 may have to compile until it has to show how long it takes. It makes up to 12 times as much of it. */
const MAX_CODE_BYTES = 16 * 1_024 * 1_024;

/**
 * Rewrites a core module so that the end of its thread takes effect soon, whatever runs. V8 looks for an
 * interrupt in loops and where functions are entered, but a loop of bulk instructions counts as next to
 * nothing, straight code as nothing, and an optimised function that calls no others does not look at all.
 *
 * - Bulk instructions that can be long become calls of helpers, which split them: `helpers.ts`.
 * - Functions, loops and tail calls get a guard, which is a call that hardly ever happens: `guard.ts`,
 *   `function-scanner.ts`.
 * - Functions that take long to compile are refused: `function-bounds.ts`.
 *
 * Exceptions are counted before they are thrown: `exceptions.ts`.
 *
 * Types, functions and globals are appended, so that no index changes.
 *
 * @param module The parsed module.
 * @throws {ToolPreparationError} if it has instructions that are not supported, or takes too long to compile.
 */
export async function makeInterruptible(
  binary: Uint8Array,
  module: CoreModule,
): Promise<InterruptibleModule> {
  const { code } = module;
  if (code === undefined) return { binary, growsTables: false, isSlow: false, exceptionGlobal: undefined };
  const helpers = new Helpers(module);
  const scanner = new FunctionScanner(binary, module, helpers);
  const start = code.byteOffset - binary.byteOffset;
  const newCode = await rewriteCode(binary, { start, end: start + code.length }, scanner, () =>
    helpers.all.map(({ body }) => body),
  );
  const isSlow = scanner.isSlow || code.length > MAX_CODE_BYTES;
  if (newCode === undefined) return { binary, growsTables: false, isSlow, exceptionGlobal: undefined };
  const { growsTables } = scanner;
  const { exceptionGlobal } = helpers;
  const changed = await withHelpers(binary, newCode, module, helpers);
  return { binary: changed, growsTables, isSlow, exceptionGlobal };
}

function withHelpers(
  binary: Uint8Array,
  newCode: readonly Uint8Array[],
  { types }: CoreModule,
  { all, first, globals }: Helpers,
): Promise<Uint8Array> {
  const names = { from: first, names: all.map(({ name }) => name) };
  let isNamed = false;
  const replace = ({ id, body }: Section): readonly Uint8Array[] | undefined => {
    if (id === CORE_SECTION.code) return newCode;
    if (id !== CORE_SECTION.custom) return undefined;
    // V8 takes what is about positions in the code as hints, which are wrong now.
    if (new BinaryReader(body).name() !== NAME_SECTION) return [];
    if (isNamed) return undefined;
    isNamed = true;
    const changed = withFunctionNames(body, names);
    return changed === undefined ? undefined : [changed];
  };
  const appended = new Map<number, AppendedItems>([
    [CORE_SECTION.type, { count: all.length, bytes: all.flatMap(({ type }) => type) }],
    [
      CORE_SECTION.function,
      { count: all.length, bytes: all.flatMap((_, index) => u32Bytes(types.length + index)) },
    ],
  ]);
  if (globals.length > 0) appended.set(CORE_SECTION.global, { count: globals.length, bytes: globals.flat() });
  return changeSections(binary, replace, appended, () => (isNamed ? [] : [namesOfFunctions(names)]));
}

/**
 * A name section that names more functions.
 *
 * @param body The section as it is, beginning with its own name.
 * @returns `undefined` if the section is not well-formed. V8 ignores it.
 */
function withFunctionNames(body: Uint8Array, added: FunctionNames): Uint8Array | undefined {
  try {
    const reader = new BinaryReader(body);
    reader.name();
    const before: Uint8Array[] = [];
    let functions: Uint8Array = Uint8Array.of(0);
    const after: Uint8Array[] = [];
    while (!reader.isAtEnd) {
      const id = reader.byte();
      const content = reader.bytes(reader.u32());
      if (id === FUNCTION_NAMES) functions = content;
      else (id === MODULE_NAME ? before : after).push(sectionBytes(id, content));
    }
    return nameSection([...before, functionNames(functions, added), ...after]);
  } catch {
    return undefined;
  }
}

/** A name section that names functions only. */
function namesOfFunctions(added: FunctionNames): Uint8Array {
  return nameSection([functionNames(Uint8Array.of(0), added)]);
}

function nameSection(subsections: readonly Uint8Array[]): Uint8Array {
  return sectionBytes(CORE_SECTION.custom, nameBytes(NAME_SECTION), ...subsections);
}

function functionNames(known: Uint8Array, { from, names }: FunctionNames): Uint8Array {
  const reader = new BinaryReader(known);
  const count = reader.u32();
  const added = names.flatMap((name, index) => [...u32Bytes(from + index), ...nameBytes(name)]);
  return sectionBytes(FUNCTION_NAMES, u32Bytes(count + names.length), reader.rest(), added);
}

/**
 * Rewrites the functions of a core module.
 *
 * @param section Its code section.
 * @param appended Returns the bodies of the functions to append, once all others have been scanned.
 * @returns the new section in parts; `undefined` if nothing has to change.
 */
async function rewriteCode(
  binary: Uint8Array,
  { start, end }: Range,
  scanner: FunctionScanner,
  appended: () => readonly Code[],
): Promise<readonly Uint8Array[] | undefined> {
  const content = binary.subarray(0, end);
  const reader = new BinaryReader(content, start);
  const count = reader.u32();
  const edited = new EditedBytes(content, reader.at);
  let work = 0;
  for (let index = 0; index < count; index++) {
    const from = reader.at;
    const size = reader.u32();
    work += size + FUNCTION_BYTES;
    if (work > SLICE_BYTES) {
      await setImmediate();
      work = size;
    }
    const to = reader.at;
    reader.bytes(size);
    const edits = scanner.scan(index, to, reader.at);
    if (edits.length === 0) continue;
    work += edits.length * EDIT_BYTES;
    edited.edit({ from, to, code: u32Bytes(size + growthBy(edits)) });
    for (const edit of edits) edited.edit(edit);
  }
  if (edited.isSame) return undefined;
  const own = edited.finish();
  const bodies = appended();
  const added = Uint8Array.from(bodies.flatMap((body) => [...u32Bytes(body.length), ...body]));
  const counted = u32Bytes(count + bodies.length);
  const size = own.reduce((sum, { length }) => sum + length, counted.length + added.length);
  return [Uint8Array.from([CORE_SECTION.code, ...u32Bytes(size), ...counted]), ...own, added];
}
