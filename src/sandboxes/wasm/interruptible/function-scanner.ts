import { u32Bytes } from "../core-module/binary-writer.ts";
import type { CoreModule } from "../core-module/core-module.ts";
import { InstructionReader } from "../core-module/instruction-reader.ts";
import { INSTRUCTION } from "../core-module/instructions.ts";
import { type Code, call, I32 } from "./assembly.ts";
import { CompileCost } from "./compile-cost.ts";
import { type Edit, growthBy } from "./edited-bytes.ts";
import { checkBodySize, checkLocals, checkOptimiserMemory } from "./function-bounds.ts";
import { GUARD_BRANCHES } from "./guard.ts";
import { GuardPlaces } from "./guard-places.ts";
import type { Helpers } from "./helpers.ts";
import { optimiserBytes } from "./optimiser-memory.ts";

/** An instruction on memories stays as it is if it is known to work on at most so many bytes. */
const SHORT_BYTES = 1_024;

/** The codes of instructions that begin or end blocks, branch or call. */
const FIRST_BRANCH = INSTRUCTION.block;
const LAST_BRANCH = INSTRUCTION.returnCallRef;

/** Above it, the code has a prefix. */
const LAST_BYTE = 0xff;

const TAIL_CALLS: readonly number[] = [
  INSTRUCTION.returnCall,
  INSTRUCTION.returnCallIndirect,
  INSTRUCTION.returnCallRef,
];

/** Instructions whose time depends on their operands. Others take no time to speak of. */
const LONG: readonly number[] = [
  ...[INSTRUCTION.memoryInit, INSTRUCTION.memoryCopy, INSTRUCTION.memoryFill],
  ...[INSTRUCTION.tableInit, INSTRUCTION.tableCopy, INSTRUCTION.tableGrow, INSTRUCTION.tableFill],
];

const WITH_ONE_INDEX: readonly number[] = [
  INSTRUCTION.memoryFill,
  INSTRUCTION.tableGrow,
  INSTRUCTION.tableFill,
];

/** What is needed of a core module. */
type ScannedModule = Pick<CoreModule, "importedFunctions" | "types" | "functionTypes" | "tags" | "dataBytes">;

/** Finds what has to change in functions, so that none runs for long without a chance to interrupt it. */
export class FunctionScanner {
  readonly #module: ScannedModule;
  readonly #helpers: Helpers;
  readonly #reader: InstructionReader;
  readonly #places = new GuardPlaces();
  readonly #compileCost: CompileCost;
  #growsTables = false;
  #isSlow = false;

  /** @param binary The core module, whose positions are used. */
  constructor(binary: Uint8Array, module: ScannedModule, helpers: Helpers) {
    this.#module = module;
    this.#helpers = helpers;
    this.#reader = new InstructionReader(binary);
    this.#compileCost = new CompileCost(module);
  }

  /** Whether a function that was scanned grows a table. */
  get growsTables(): boolean {
    return this.#growsTables;
  }

  /** Whether a function that was scanned may take V8 long to compile. */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  /**
   * Scans one function.
   *
   * @param index Which of the module's own functions it is.
   * @returns the edits in order.
   * @throws {ToolPreparationError} if it has instructions that are not supported, or takes too long to compile.
   */
  scan(index: number, start: number, end: number): readonly Edit[] {
    const reader = this.#reader;
    const edits: Edit[] = [];
    const number = this.#module.importedFunctions + index;
    checkBodySize(number, end - start);
    reader.moveTo(start, end);
    const locals = reader.locals();
    const entry = reader.at;
    const counter = this.#parametersOf(number) + locals;
    this.#places.begin(entry);
    this.#compileCost.begin(counter + 1);
    let branches = 0;
    let optimiser = 0;
    /** Where the instruction before is, if it is a constant. */
    let constantAt: number | undefined;
    while (reader.next()) {
      const { code } = reader;
      this.#places.see(reader);
      this.#compileCost.see(reader);
      optimiser += optimiserBytes(code);
      if (code >= FIRST_BRANCH && code <= LAST_BRANCH) {
        branches += code === INSTRUCTION.brTable ? reader.first : 1;
        if (TAIL_CALLS.includes(code)) {
          edits.push(insertion(reader.start, this.#helpers.guard()));
        } else if (code === INSTRUCTION.throw) {
          edits.push(insertion(reader.start, this.#helpers.charge(this.#exceptionBytes(reader.first))));
        }
      } else if (code === INSTRUCTION.tryTable) {
        branches += 1 + reader.first;
      } else if (code > LAST_BYTE && LONG.includes(code) && !this.#isShort(constantAt)) {
        edits.push({ from: reader.start, to: reader.at, code: this.#callInstead() });
      }
      constantAt = code === INSTRUCTION.i32Const ? reader.start : undefined;
    }
    const { loops } = this.#places;
    for (const { at, bytes } of loops) edits.push(insertion(at, this.#helpers.loopGuard(counter, bytes)));
    // A guard comes before an instruction at the same place.
    edits.sort((one, other) => one.from - other.from || one.to - other.to);
    if (this.#places.needsEntryGuard(end)) edits.unshift(insertion(entry, this.#helpers.guard()));
    if (loops.length > 0) edits.unshift(...this.#addLocal(start, end, entry));
    const newSize = end - start + growthBy(edits);
    checkBodySize(number, newSize);
    this.#isSlow ||= this.#compileCost.isHigh(newSize);
    checkOptimiserMemory(number, optimiser);
    checkLocals(number, locals, branches + loops.length * GUARD_BRANCHES);
    return edits;
  }

  /** V8 refuses a module that names a tag which does not exist. */
  #exceptionBytes(tag: number): number {
    return this.#module.types[this.#module.tags[tag] ?? -1]?.exceptionBytes ?? 0;
  }

  #parametersOf(index: number): number {
    return this.#module.types[this.#module.functionTypes[index] ?? -1]?.parameters ?? 0;
  }

  /** Declares one more variable of type `i32`, behind all others. */
  #addLocal(start: number, end: number, entry: number): readonly Edit[] {
    this.#reader.moveTo(start, end);
    const groups = this.#reader.localGroups();
    return [{ from: start, to: this.#reader.at, code: u32Bytes(groups + 1) }, insertion(entry, [1, ...I32])];
  }

  /** Whether the long instruction that was just read takes no time to speak of. Tables are slower than memories. */
  #isShort(constantAt: number | undefined): boolean {
    const { code, first } = this.#reader;
    if (code >= INSTRUCTION.tableInit) return false;
    if (code === INSTRUCTION.memoryInit && (this.#module.dataBytes[first] ?? 0) <= SHORT_BYTES) return true;
    return constantAt !== undefined && this.#reader.constantAt(constantAt) <= SHORT_BYTES;
  }

  #callInstead(): Code {
    const { code, first, second } = this.#reader;
    this.#growsTables ||= code === INSTRUCTION.tableGrow;
    const indices = WITH_ONE_INDEX.includes(code) ? [first] : [first, second];
    return call(this.#helpers.indexFor({ code, indices }));
  }
}

function insertion(at: number, code: Code): Edit {
  return { from: at, to: at, code };
}
