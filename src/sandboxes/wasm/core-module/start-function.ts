import { BinaryReader } from "./binary-reader.ts";
import type { CoreModule } from "./core-module.ts";
import { goesForward } from "./forward-instructions.ts";
import { InstructionReader } from "./instruction-reader.ts";
import { INSTRUCTION } from "./instructions.ts";

/** The maximum number of instructions that a start function may run, including the functions that it calls. */
const MAX_STEPS = 10_000;

/** The maximum depth of its calls. */
const MAX_DEPTH = 64;

type StartingModule = Pick<CoreModule, "start" | "code" | "importedFunctions">;

/**
 * Whether a core module may be instantiated without a deadline: it has no start function, or one that always ends after
 * a few thousand instructions. The start function must not have loops or call imported functions.
 *
 * @throws {ToolPreparationError} if its code has instructions that are not supported.
 */
export function startsAtOnce({ start, code, importedFunctions }: StartingModule): boolean {
  if (start === undefined) return true;
  const bodies: Uint8Array[] = [];
  if (code !== undefined) {
    const reader = new BinaryReader(code);
    reader.vector(() => bodies.push(reader.bytes(reader.u32())));
  }
  return new ForwardCode(bodies, importedFunctions).isBounded(start);
}

/** Counts instructions without running them. Without loops, each runs at most once. */
class ForwardCode {
  readonly #bodies: readonly Uint8Array[];
  readonly #imported: number;
  #left = MAX_STEPS;

  constructor(bodies: readonly Uint8Array[], imported: number) {
    this.#bodies = bodies;
    this.#imported = imported;
  }

  isBounded(index: number, depth = 0): boolean {
    if (depth > MAX_DEPTH) return false;
    const body = this.#bodies[index - this.#imported];
    if (body === undefined) return false;
    const instructions = new InstructionReader(body);
    instructions.locals();
    while (instructions.next()) {
      if (this.#left-- <= 0) return false;
      if (instructions.code === INSTRUCTION.call) {
        if (!this.isBounded(instructions.first, depth + 1)) return false;
      } else if (!goesForward(instructions.code)) return false;
    }
    return true;
  }
}
