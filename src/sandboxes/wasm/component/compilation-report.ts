/** What V8 prints about each function that it compiles (`--trace-wasm-compilation-times`). */
const LINE =
  /^Compiled function \S+ using Liftoff, took (\d+) \S+ and (\d+) bytes; bodysize \d+ codesize (\d+)/;

/**
 * Bytes of memory that V8 may take to compile one function. The largest function of an unoptimised JavaScript engine
 * takes half of it.
 */
const MAX_FUNCTION_BYTES = 128 * 1_024 * 1_024;

/** Bytes of machine code that a component may come to. */
const MAX_CODE_BYTES = 256 * 1_024 * 1_024;

/** Around the verdict, which can stand in the midst of one of V8's lines. */
export const MARK = "\u0001";

const MAX_VERDICT_LENGTH = 65_536;

/** Reads what the validating process writes. */
export class CompilationReport {
  #rest = "";
  #codeBytes = 0;
  #largestBytes = 0;
  /** Units of time, of which V8 has changed the size. */
  #slowest = 0;
  #total = 0;
  #verdict: string | undefined;

  /** What the process said of the component; `undefined` when it said nothing. */
  get verdict(): string | undefined {
    return this.#verdict;
  }

  add(chunk: string): void {
    this.#rest += chunk;
    this.#takeVerdict();
    // As long as only a part of the verdict is there, so may be only a part of a line.
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

  /** What of the component's code takes too much memory, or `undefined`. */
  memoryProblem(): string | undefined {
    if (this.#largestBytes > MAX_FUNCTION_BYTES) {
      return `compiling one of its functions takes more than ${MAX_FUNCTION_BYTES} bytes of memory`;
    }
    if (this.#codeBytes <= MAX_CODE_BYTES) return undefined;
    return `its machine code comes to more than ${MAX_CODE_BYTES} bytes`;
  }

  /**
   * The CPU time of the function that took longest, in ms. V8 measures wall time, which is several times as much on a
   * busy machine: each function is taken to have the same share of the CPU time.
   *
   * @param cpuMs The CPU time of all functions together.
   */
  slowestMs(cpuMs: number): number {
    return this.#total === 0 ? 0 : (this.#slowest / this.#total) * cpuMs;
  }
}
