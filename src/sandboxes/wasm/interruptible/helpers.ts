import { ToolPreparationError } from "../../contract/sandbox.ts";
import { BinaryReader } from "../core-module/binary-reader.ts";
import type { CoreModule } from "../core-module/core-module.ts";
import type { Table } from "../core-module/definitions.ts";
import { INSTRUCTION } from "../core-module/instructions.ts";
import { type Code, I32 } from "./assembly.ts";
import { countedGuardCall, type Guard, growHelper, guardCall, guardHelper } from "./guard.ts";
import type { BulkInstruction, Helper } from "./helper.ts";
import { splitHelper } from "./split-helper.ts";

/** Each takes about a hundred bytes, where the instruction takes three. */
const MAX_HELPERS = 4_096;

/** The functions that are appended to a core module: one for each bulk instruction and the indices behind it. */
export class Helpers {
  /** The index of the first one: behind all functions of the module. */
  readonly first: number;
  readonly #global: number;
  readonly #tables: readonly Table[];
  readonly #indices = new Map<string, number>();
  readonly #all: Helper[] = [];
  #guard: Guard | undefined;

  constructor({
    importedFunctions,
    functions,
    importedGlobals,
    globals,
    importedTables,
    tables,
  }: CoreModule) {
    this.first = importedFunctions + functions;
    this.#global = importedGlobals + (globals === undefined ? 0 : new BinaryReader(globals).u32());
    this.#tables = [...importedTables, ...tables];
  }

  /** All of them, in the order of their indices. */
  get all(): readonly Helper[] {
    return this.#all;
  }

  /** Whether a global is needed: the first one behind all globals of the module. It stays 0. */
  get needGlobal(): boolean {
    return this.#guard !== undefined;
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

  #addGuard(): Guard {
    if (this.#guard === undefined) {
      this.#guard = { function: this.#next, global: this.#global };
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
