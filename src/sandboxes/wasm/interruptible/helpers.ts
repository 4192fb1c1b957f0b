import { ToolPreparationError } from "../../contract/sandbox.ts";
import { BinaryReader } from "../core-module/binary-reader.ts";
import type { CoreModule } from "../core-module/core-module.ts";
import type { Table } from "../core-module/definitions.ts";
import { INSTRUCTION } from "../core-module/instructions.ts";
import { type Code, I32, noFunction, variable } from "./assembly.ts";
import { chargeCall, chargeHelper, type ExceptionCharge, SLICE_BYTES } from "./exceptions.ts";
import { countedGuardCall, type Guard, growHelper, guardCall, guardHelper } from "./guard.ts";
import type { BulkInstruction, Helper } from "./helper.ts";
import { splitHelper } from "./split-helper.ts";

/** Each takes about a hundred bytes, where the instruction takes three. */
const MAX_HELPERS = 4_096;

/** The functions that are appended to a core module: one for each bulk instruction and the indices behind it. */
export class Helpers {
  /** The index of the first one: behind all functions of the module. */
  readonly first: number;
  readonly #firstGlobal: number;
  readonly #firstType: number;
  /** The globals to append. */
  readonly #globals: Code[] = [];
  readonly #tables: readonly Table[];
  readonly #indices = new Map<string, number>();
  readonly #all: Helper[] = [];
  #guard: Guard | undefined;
  #charge: ExceptionCharge | undefined;

  constructor({
    importedFunctions,
    functions,
    types,
    importedGlobals,
    globals,
    importedTables,
    tables,
  }: CoreModule) {
    this.first = importedFunctions + functions;
    this.#firstType = types.length;
    this.#firstGlobal = importedGlobals + (globals === undefined ? 0 : new BinaryReader(globals).u32());
    this.#tables = [...importedTables, ...tables];
  }

  /** All of them, in the order of their indices. */
  get all(): readonly Helper[] {
    return this.#all;
  }

  /** The globals to append, in the order of their indices. */
  get globals(): readonly Code[] {
    return this.#globals;
  }

  /** The index of the global with the function that decides on exceptions; `undefined` if nothing throws any. */
  get exceptionGlobal(): number | undefined {
    return this.#charge?.decide;
  }

  /** The index of the function to call in place of a bulk instruction. */
  indexFor(instruction: BulkInstruction): number {
    const key = [instruction.code, ...instruction.indices].join(" ");
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    const index = this.#add(instruction);
    this.#indices.set(key, index);
    return index;
  }

  /** What goes to the entry of a function and before tail calls. */
  guard(): Code {
    return guardCall(this.#addGuard());
  }

  /** What goes into a loop. */
  loopGuard(counter: number, bytes: number): Code {
    return countedGuardCall(this.#addGuard(), counter, bytes);
  }

  /** What goes before an instruction that throws an exception of a size. */
  charge(bytes: number): Code {
    if (this.#charge === undefined) {
      const type = this.#firstType + this.#all.length;
      const decide = this.#addGlobal(noFunction(type));
      const left = this.#addGlobal(variable(SLICE_BYTES));
      this.#charge = { function: this.#next, type, decide, left };
      this.#all.push(chargeHelper(this.#charge));
    }
    return chargeCall(this.#charge, bytes);
  }

  #addGlobal(code: Code): number {
    return this.#firstGlobal + this.#globals.push(code) - 1;
  }

  #addGuard(): Guard {
    if (this.#guard === undefined) {
      this.#guard = { function: this.#next, global: this.#addGlobal(variable(0)) };
      this.#all.push(guardHelper(this.#guard));
    }
    return this.#guard;
  }

  get #next(): number {
    return this.first + this.#all.length;
  }

  #add(instruction: BulkInstruction): number {
    if (this.#all.length >= MAX_HELPERS) {
      throw new ToolPreparationError(`a core module uses bulk instructions in more than ${MAX_HELPERS} ways`);
    }
    const { code, indices } = instruction;
    // V8 refuses a module that names a table which does not exist.
    const element = this.#tables[indices[0] ?? 0]?.type ?? I32;
    if (code === INSTRUCTION.tableGrow) {
      const guard = this.guard();
      this.#all.push(growHelper(instruction, element, guard));
    } else {
      this.#all.push(splitHelper(instruction, this.#next, code === INSTRUCTION.tableFill ? element : I32));
    }
    return this.#next - 1;
  }
}
