import { ToolPreparationError } from "../../contract/sandbox.ts";
import { u32Bytes } from "../core-module/binary.ts";
import type { CoreModule } from "../core-module/core-module.ts";
import { InstructionReader } from "../core-module/instruction-reader.ts";
import { goesForward, INSTRUCTION } from "../core-module/instructions.ts";
import { type Code, call, type Edit, growthBy, I32 } from "./assembly.ts";
import { CompileCost } from "./compile-cost.ts";
import { GUARD_BRANCHES } from "./guard.ts";
import type { Helpers } from "./helpers.ts";

/**
 * Bytes of a function's code. V8 compiles it when it is first called, within the call, and cannot be interrupted: about
 * 90 ms a MiB. The largest function of a JavaScript engine has a third of this.
 */
const MAX_BODY_BYTES = 512 * 1_024;

/**
 * V8's compiler looks at all local variables at each branch. So many take it about a tenth of a second. Optimised
 * programs have a tenth of this.
 */
const MAX_LOCALS_AT_BRANCHES = 16 * 1_024 * 1_024;

/**
 * What V8 may take to optimise a function, as estimated, in bytes. It does so in threads of its own, which no limit of a
 * call covers, for up to four functions at a time. The largest function of a JavaScript engine takes half of this.
 */
const MAX_OPTIMISER_BYTES = 80 * 1_024 * 1_024;

/**
 * What V8's optimising compiler takes for instructions while it compiles a function, in bytes, as measured in functions
 * that consist of them (V8 14.6); calls by table or reference take up to twice as much. Core specification, section 5.4.
 */
const BYTES: readonly (readonly [from: number, to: number, bytes: number])[] = [
  [0x01, 0x01, 0],
  // Blocks, branches and calls, which split the code.
  [0x02, 0x06, 1_500],
  [0x0b, 0x0b, 100],
  [0x0c, 0x10, 1_500],
  [0x11, 0x15, 2_500],
  [0x18, 0x19, 1_500],
  [0x1f, 0x1f, 1_500],
  // Constants and local variables only name values.
  [0x1a, 0x1a, 0],
  [0x20, 0x22, 100],
  [0x41, 0x44, 100],
  [0x23, 0x26, 400],
  // Divisions and conversions check their operands, each with branches.
  [0x6d, 0x70, 3_500],
  [0x7f, 0x82, 3_500],
  [0xa8, 0xab, 3_000],
  [0xae, 0xb1, 3_000],
];

const OTHER_BYTES = 600;

const PREFIXED_BYTES = 1_000;

/** The prefix of conversions that saturate, up to a number. */
const SATURATING_PREFIX = 0xfc;

const LAST_SATURATING = 7;

const SATURATING_BYTES = 10_000;

const BYTES_OF = Uint16Array.from({ length: 0x100 }, (_, code) => {
  return BYTES.find(([from, to]) => code >= from && code <= to)?.[2] ?? OTHER_BYTES;
});

/** An instruction on memories stays as it is if it is known to work on at most this many bytes. */
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
  INSTRUCTION.memoryInit,
  INSTRUCTION.memoryCopy,
  INSTRUCTION.memoryFill,
  INSTRUCTION.tableInit,
  INSTRUCTION.tableCopy,
  INSTRUCTION.tableGrow,
  INSTRUCTION.tableFill,
];

const WITH_ONE_INDEX: readonly number[] = [
  INSTRUCTION.memoryFill,
  INSTRUCTION.tableGrow,
  INSTRUCTION.tableFill,
];

/** What is needed of a core module. */
type ScannedModule = Pick<CoreModule, "importedFunctions" | "types" | "functionTypes" | "tags" | "dataBytes">;

/** Finds the edits of functions that are needed so that V8 can interrupt each of them soon. */
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

  /** Declares one more variable of type `i32`, after all other variables. */
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

/** Estimates what V8 takes to optimise an instruction, in bytes. */
function optimiserBytes(code: number): number {
  if (code < BYTES_OF.length) return BYTES_OF[code] ?? OTHER_BYTES;
  const isSaturating = code >> 16 === SATURATING_PREFIX && (code & 0xffff) <= LAST_SATURATING;
  return isSaturating ? SATURATING_BYTES : PREFIXED_BYTES;
}

/** @throws {ToolPreparationError} if a function has too much code. */
function checkBodySize(index: number, bytes: number): void {
  if (bytes <= MAX_BODY_BYTES) return;
  throw new ToolPreparationError(
    `the function ${index} of a core module has ${bytes} bytes of code: at most ${MAX_BODY_BYTES} are allowed`,
  );
}

/**
 * @param branches How many instructions begin or end blocks, branch or call.
 * @throws {ToolPreparationError} if a function has too many local variables for its branches.
 */
function checkLocals(index: number, locals: number, branches: number): void {
  if (locals * branches <= MAX_LOCALS_AT_BRANCHES) return;
  throw new ToolPreparationError(
    `the function ${index} of a core module has ${locals} local variables and ${branches} branches, which takes ` +
      "too long to compile. Optimise it",
  );
}

/**
 * @param bytes What V8 takes to optimise it, as estimated.
 * @throws {ToolPreparationError} if that is too much.
 */
function checkOptimiserMemory(index: number, bytes: number): void {
  if (bytes <= MAX_OPTIMISER_BYTES) return;
  throw new ToolPreparationError(
    `the function ${index} of a core module has so many divisions, conversions, branches or calls that optimising it ` +
      `takes about ${Math.ceil(bytes / 2 ** 20)} MiB: at most ${MAX_OPTIMISER_BYTES / 2 ** 20} are allowed. Split it`,
  );
}

/** A function without loops and with no more code than this returns soon, and needs no guard. */
const QUICK_FUNCTION_BYTES = 16;

/** A loop without other loops, calls and the like, and with no more code than this, needs no guard. */
const QUICK_LOOP_BYTES = 128;

/**
 * But only if it reads memory so often: each time may take as long as a hundred other instructions. V8 looks for an
 * interrupt after some 100,000 rounds, which are late by 0.4 s if each reads 64 MiB here and there twice.
 */
const QUICK_LOOP_LOADS = 1;

/** And writes it so often. */
const QUICK_LOOP_STORES = 2;

/** The limit for each function, since V8 may not interrupt any of them. */
const QUICK_LOOPS = 16;

/** The codes of instructions that read memory, and of those that write it. */
const FIRST_LOAD = 0x28;
const FIRST_STORE = 0x36;
const LAST_STORE = 0x3e;

/** Where a loop needs a guard, and how much code it has. */
interface LoopPlace {
  readonly at: number;
  readonly bytes: number;
}

/** A block that is not a loop. */
const NO_LOOP = 0;

/**
 * Finds the places where a function needs guards.
 *
 * V8's optimising compiler does not look for an interrupt at the entry of a function that calls no others,
 * nor in innermost loops with a constant count below 5,000. Its other compiler looks in a loop only after
 * about 13,000,000 bytes of machine code. A loop that is not optimised could therefore call an optimised
 * function for minutes, or read memory for a second.
 *
 * A guard counts as a call, but takes no longer than a few other instructions. One is at the entry of each
 * function, and one that counts iterations in each loop. Small loops have no guard, which would double their
 * time.
 */
class GuardPlaces {
  readonly #loops: LoopPlace[] = [];
  /** For each open block: where the code of a loop begins, or `NO_LOOP`. */
  readonly #blocks: number[] = [];
  /** The innermost loop, as long as it only goes forward. A loop around another one is never quick. */
  #quickLoop = NO_LOOP;
  #loads = 0;
  #stores = 0;
  #quickLoops = 0;
  #hasLoops = false;
  #start = 0;

  /** Begins with a function whose instructions start at a position. */
  begin(start: number): void {
    this.#loops.length = 0;
    this.#blocks.length = 0;
    this.#quickLoop = NO_LOOP;
    this.#quickLoops = 0;
    this.#hasLoops = false;
    this.#start = start;
  }

  /** Looks at the instruction that was just read. */
  see({ code, at }: InstructionReader): void {
    switch (code) {
      case INSTRUCTION.loop:
        this.#blocks.push(at);
        this.#quickLoop = at;
        this.#loads = 0;
        this.#stores = 0;
        this.#hasLoops = true;
        return;
      case INSTRUCTION.block:
      case INSTRUCTION.if:
        this.#blocks.push(NO_LOOP);
        return;
      case INSTRUCTION.try:
      case INSTRUCTION.tryTable:
        this.#blocks.push(NO_LOOP);
        this.#quickLoop = NO_LOOP;
        return;
      case INSTRUCTION.end:
      case INSTRUCTION.delegate:
        this.#endBlock(at);
        return;
      default:
        if (code >= FIRST_LOAD && code < FIRST_STORE) this.#loads++;
        else if (code >= FIRST_STORE && code <= LAST_STORE) this.#stores++;
        else if (!goesForward(code)) this.#quickLoop = NO_LOOP;
    }
  }

  #endBlock(at: number): void {
    const loop = this.#blocks.pop() ?? NO_LOOP;
    if (loop === NO_LOOP) return;
    const bytes = at - loop;
    const isQuick =
      loop === this.#quickLoop &&
      bytes <= QUICK_LOOP_BYTES &&
      this.#loads <= QUICK_LOOP_LOADS &&
      this.#stores <= QUICK_LOOP_STORES;
    if (!isQuick || ++this.#quickLoops > QUICK_LOOPS) this.#loops.push({ at: loop, bytes });
    this.#quickLoop = NO_LOOP;
  }

  /** The loops that need guards, in no particular order. */
  get loops(): readonly LoopPlace[] {
    return this.#loops;
  }

  /** Whether a function that ends at a position needs a guard at its entry. */
  needsEntryGuard(end: number): boolean {
    return this.#hasLoops || end - this.#start > QUICK_FUNCTION_BYTES;
  }
}
