import type { Readable } from "node:stream";
import type { ProcessImplementation } from "../../../tool/implementations/process-implementation.ts";
import { shorten } from "../../contract/failure-text.ts";
import type { MemoryLease } from "../../contract/guest-memory.ts";
import { MeteredOutput } from "../../contract/metered-output.ts";
import type { ResourceUse } from "../../contract/outcome.ts";
import { type CheckedOutput, checkOutput, checkReturned } from "../../contract/output.ts";
import { outputProblem } from "../../contract/output-bounds.ts";
import type { SandboxTask } from "../../contract/task.ts";
import { PROCESS_DEFAULTS } from "../process-limits.ts";
import { CollectedOutput } from "./collected-output.ts";
import { CompletionOutput } from "./completion.ts";
import { LineReader } from "./line-reader.ts";
import { LiveOutput } from "./live-output.ts";
import { Tail } from "./tail.ts";
import { wholeStart } from "./utf8.ts";

/** The most bytes of a failure's message: the end of what the program wrote to its standard error. */
const MAX_MESSAGE_BYTES = 2_000;

type OutputTask = Pick<SandboxTask, "input" | "limits" | "observer">;

/** What a program writes to its outputs, and what becomes of it: see `ProcessImplementation.output`. */
export class ProgramOutput {
  readonly #task: OutputTask;
  readonly #tool: ProcessImplementation;
  readonly #kept: CollectedOutput | CompletionOutput;
  readonly #live: LiveOutput | undefined;
  readonly #metered: MeteredOutput;
  /** The end of the standard error. */
  readonly #said = new Tail(MAX_MESSAGE_BYTES);
  #logLines = 0;
  #bytesRead = 0;

  /** @param room For what is read. Closed with {@link close}. */
  constructor(task: OutputTask, tool: ProcessImplementation, room: MemoryLease) {
    this.#task = task;
    this.#tool = tool;
    const bytes = task.limits.outputBytes ?? PROCESS_DEFAULTS.outputBytes;
    const isCompletion = tool.output === "completion";
    this.#kept = isCompletion ? new CompletionOutput(bytes) : new CollectedOutput(bytes);
    const isFollowed = isCompletion && task.observer.listening !== false;
    this.#live = isFollowed ? new LiveOutput(task.observer, bytes) : undefined;
    this.#metered = new MeteredOutput(room, bytes);
  }

  /**
   * Reads both outputs.
   *
   * @param stop Called when they exceed the output limit, or there will be no room for them. Those of a completion are
   *   shortened instead of exceeding their limit.
   */
  read(stdout: Readable, stderr: Readable, stop: (cause: "outputBytes" | "memory") => void): void {
    const kept = this.#kept;
    if (kept instanceof CompletionOutput) {
      stdout.on("data", (chunk: Buffer) => kept.stdout.add(chunk));
      stderr.on("data", (chunk: Buffer) => kept.stderr.add(chunk));
      for (const stream of [stdout, stderr]) this.#live?.follow(stream);
    } else {
      stdout.on("data", (chunk: Buffer) => {
        if (!kept.add(chunk)) stop("outputBytes");
      });
    }
    stderr.on("data", (chunk: Buffer) => this.#said.add(chunk));
    for (const stream of [stdout, stderr])
      stream.on("data", (chunk: Buffer) => {
        this.#bytesRead += chunk.length;
      });
    // The lines of a completion are part of it.
    if (!(kept instanceof CompletionOutput)) this.#logLinesOf(stderr);
    this.#metered.read(stdout, () => stop("memory"));
    if (kept instanceof CompletionOutput) this.#metered.read(stderr, () => stop("memory"));
  }

  /** How much of both outputs has been read. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Whether what the program wrote waits for room. */
  get isWaiting(): boolean {
    return this.#metered.isWaiting;
  }

  /** What the model reads if there was no room. */
  get refusal(): string {
    return this.#metered.refusal;
  }

  /** Drops what waits for room, and what has none from now on: the program is being stopped. */
  stopWaiting(): void {
    this.#metered.stopWaiting();
  }

  /** Gives the room back. */
  close(): void {
    this.#metered.close();
  }

  #logLinesOf(stderr: Readable): void {
    const { limits, observer } = this.#task;
    const most = limits.logLines ?? PROCESS_DEFAULTS.logLines;
    const lines = new LineReader((line) => {
      if (this.#logLines === most) return;
      this.#logLines++;
      if (observer.listening !== false) observer.log("info", line);
    });
    stderr.on("data", (chunk: Buffer) => {
      // A flood of lines would take this process longer than the program.
      if (this.#logLines < most) lines.add(chunk);
    });
    stderr.on("end", () => lines.end());
  }

  /** Called when the program has ended. */
  end(): void {
    this.#live?.end();
  }

  get used(): Pick<ResourceUse, "outputBytes" | "logLines"> {
    return { outputBytes: this.#kept.bytes, logLines: this.#logLines };
  }

  /** Whether the program wrote something like this, as far as it is kept. */
  says(pattern: RegExp): boolean {
    const kept = this.#kept;
    const isIn = kept instanceof CompletionOutput && pattern.test(kept.stdout.text().text);
    return isIn || pattern.test(this.lastLines);
  }

  /** The last lines of the standard error. */
  get lastLines(): string {
    return wholeStart(this.#said.read()).toString("utf8").trim();
  }

  /**
   * Returns the output of a program that exited with this code. Throws what the tool's `result` throws.
   *
   * @param note Of the completion. Default: none.
   */
  check(code: number, note?: string): CheckedOutput {
    const kept = this.#kept;
    const { outputBytes } = this.#task.limits;
    if (code !== 0 && (kept instanceof CollectedOutput || this.#tool.failOnExit === true))
      return { status: "failed", message: this.#failure(code, note), outputBytes: kept.bytes };
    if (kept instanceof CompletionOutput) {
      const completion = kept.completion(code, note);
      const { result } = this.#tool;
      const output = result === undefined ? completion : result(completion, this.#task.input as never);
      return checkReturned(output, outputBytes, 0);
    }
    const text = kept.toString();
    if (this.#tool.output === "text") return checkReturned(text, outputBytes, 0);
    const problem = outputProblem(text);
    if (problem !== undefined) return { status: "failed", message: problem, outputBytes: kept.bytes };
    return checkOutput(text, outputBytes);
  }

  /** Says why a program failed, in its own words if it has any. */
  #failure(code: number, note?: string): string {
    const said = this.lastLines;
    const message = said === "" ? `The program exited with code ${code}` : shorten(said, MAX_MESSAGE_BYTES);
    return note === undefined ? message : `${message}\n${note}`;
  }
}
