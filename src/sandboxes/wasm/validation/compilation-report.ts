/** The beginning of the verdict on code that compiles. The CPU time of compiling it follows, in ms. */
export const COMPILED = "+";

/** The size of a length in the input of the compiling process. One precedes each core module. */
export const LENGTH_BYTES = 4;

/** What V8 prints about each function that it compiles (`--trace-wasm-compilation-times`). */
const LINE =
  /^Compiled function \S+ using Liftoff, took (\d+) \S+ and (\d+) bytes; bodysize \d+ codesize (\d+)/;

/**
 * The maximum memory for V8 to compile one function, in bytes. The largest function of an unoptimised JavaScript engine
 * takes half of it.
 */
const MAX_FUNCTION_BYTES = 128 * 1_024 * 1_024;

/** The maximum size of a component's machine code, in bytes. */
const MAX_CODE_BYTES = 256 * 1_024 * 1_024;

/** Encloses the verdict, which can appear within one of V8's lines. */
export const MARK = "\u0001";

const MAX_VERDICT_LENGTH = 65_536;

/** Reads the output of the validating process. */
export class CompilationReport {
  #rest = "";
  #codeBytes = 0;
  #largestBytes = 0;
  /** In units of time that depend on V8's version, like the total. */
  #slowest = 0;
  #total = 0;
  #verdict: string | undefined;

  /** The verdict of the process; `undefined` if it did not write one. */
  get verdict(): string | undefined {
    return this.#verdict;
  }

  add(chunk: string): void {
    this.#rest += chunk;
    this.#takeVerdict();
    // Until the verdict is complete, the last line may be incomplete too.
    if (this.#rest.includes(MARK)) return;
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, time = "0", takenBytes = "0", codeBytes = "0"] = LINE.exec(line) ?? [];
      this.#slowest = Math.max(this.#slowest, Number(time));
      this.#total += Number(time);
      this.#largestBytes = Math.max(this.#largestBytes, Number(takenBytes));
      this.#codeBytes += Number(codeBytes);
    }
  }

  #takeVerdict(): void {
    const start = this.#rest.indexOf(MARK);
    const end = this.#rest.indexOf(MARK, start + 1);
    if (start === -1 || end === -1) {
      if (start !== -1 && this.#rest.length > MAX_VERDICT_LENGTH) this.#rest = "";
      return;
    }
    this.#verdict ??= this.#rest.slice(start + 1, end);
    this.#rest = this.#rest.slice(0, start) + this.#rest.slice(end + 1);
  }

  /** Says which code of the component takes too much memory; `undefined` if no code does. */
  memoryProblem(): string | undefined {
    if (this.#largestBytes > MAX_FUNCTION_BYTES) {
      return `compiling one of its functions takes more than ${MAX_FUNCTION_BYTES} bytes of memory`;
    }
    if (this.#codeBytes <= MAX_CODE_BYTES) return undefined;
    return `its machine code comes to more than ${MAX_CODE_BYTES} bytes`;
  }

  /**
   * The CPU time of the function that took longest, in ms. V8 measures wall time, which is several times as long on a
   * busy machine, so this assumes that each function has the same share of the CPU time as of the wall time.
   *
   * @param cpuMs The CPU time of all functions together.
   */
  slowestMs(cpuMs: number): number {
    return this.#total === 0 ? 0 : (this.#slowest / this.#total) * cpuMs;
  }
}
