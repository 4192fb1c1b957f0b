import { BinaryReader, CORE_SECTION, type Section } from "../core-module/binary-reader.ts";
import { u32Bytes } from "../core-module/binary-writer.ts";
import type { CoreModule } from "../core-module/core-module.ts";
import { NAME_SECTION } from "../core-module/name-section.ts";
import { type AppendedItems, changeSections } from "../core-module/section-changes.ts";
import { rewriteCode } from "./code-section.ts";
import { namesOfFunctions, withFunctionNames } from "./function-names.ts";
import { FunctionScanner } from "./function-scanner.ts";
import { Helpers } from "./helpers.ts";

/** A core module that V8 can interrupt wherever it is. */
export interface InterruptibleModule {
  readonly binary: Uint8Array;
  /** Whether its code grows tables. */
  readonly growsTables: boolean;
  /** Whether V8 may take long to compile its code. */
  readonly isSlow: boolean;
  /** The global for the function that decides on exceptions; `undefined` if its code throws none. */
  readonly exceptionGlobal: number | undefined;
}

/** How much code V8 may have to compile until it has to show how long it takes. It makes up to 12 times as much of it. */
const MAX_CODE_BYTES = 16 * 1_024 * 1_024;

/**
 * Rewrites a core module so that the end of its thread takes effect soon, whatever runs. V8 looks for an interrupt in
 * loops and where functions are entered, but a loop of bulk instructions counts as next to nothing, straight code as
 * nothing, and an optimised function that calls no others does not look at all.
 *
 * - Bulk instructions that can be long become calls of helpers, which split them: `split-helper.ts`.
 * - Functions, loops and tail calls get a guard, which is a call that hardly ever happens: `guard.ts`, `guard-places.ts`.
 * - Functions that take long to compile are refused: `function-bounds.ts`.
 *
 * Exceptions are counted before they are thrown: `exceptions.ts`.
 *
 * Types, functions and globals are appended, so that no index changes.
 *
 * @param module What was read of it.
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
