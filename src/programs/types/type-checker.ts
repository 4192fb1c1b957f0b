import type { PreflightContext } from "../../tool/preflight.ts";
import { CompilerTurns } from "./compiler-turns.ts";
import { ConfinedCompiler } from "./confined-compiler.ts";
import { filesOf, readDiagnostics, type TypedProgram } from "./typed-program.ts";

/** What checks the types of programs that are written in TypeScript. */
export interface ProgramTypes {
  readonly checker: TypeChecker;
  /** Returns the declaration of `tools` with these, whose names exist. Any other name is a tool of any type. */
  readonly declare: (names: readonly string[]) => string;
}

/** Checks the types of programs with TypeScript's compiler. */
export class TypeChecker {
  readonly #compiler: ConfinedCompiler;
  readonly #turns = new CompilerTurns();

  /** @throws {TypeError} if TypeScript 7 is not installed. */
  constructor() {
    this.#compiler = new ConfinedCompiler();
  }

  /**
   * Returns what is wrong with a program, as `/code line:column: message`.
   *
   * @throws if the types cannot be checked here. The message says why, for operators.
   */
  async problemsOf(
    program: TypedProgram,
    { principal, signal }: Pick<PreflightContext, "principal" | "signal">,
  ): Promise<readonly string[]> {
    const problems = await this.#turns.run(principal?.id, () => this.#check(program, signal));
    return problems ?? ["/code types cannot be checked while so many other programs are: run it again later"];
  }

  async #check(program: TypedProgram, signal: AbortSignal | undefined): Promise<readonly string[]> {
    if (signal?.aborted === true) return [];
    const end = await this.#compiler.check(filesOf(program), signal);
    switch (end.status) {
      case "checked":
        return readDiagnostics(end.output);
      case "cancelled":
        return [];
      case "exhausted":
        return ["/code types take too much time or memory to check: use simpler types, or language 'js'"];
    }
  }

  /** Releases what is held between checks. The next check opens it again. */
  async close(): Promise<void> {
    await this.#compiler.close();
  }
}
