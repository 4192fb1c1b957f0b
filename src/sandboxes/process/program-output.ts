import { constants } from "node:os";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type {
  ProcessImplementation,
  ProgramCompletion,
} from "../../tool/implementations/process-implementation.ts";
import { shorten } from "../contract/failure.ts";
import type { MemoryLease } from "../contract/guest-memory.ts";
import type { ResourceUse } from "../contract/outcome.ts";
import { type CheckedOutput, checkOutput, checkReturned, outputProblem } from "../contract/output.ts";
import type { SandboxTask, TaskObserver } from "../contract/sandbox.ts";
import {
  CollectedOutput,
  Ends,
  LineReader,
  leftOutNote,
  MeteredOutput,
  Tail,
  type TruncatedText,
  wholeStart,
} from "./collected-output.ts";
import { PROCESS_DEFAULTS } from "./process-limits.ts";

/** Maximum number of bytes of both outputs together that are retained. */
const MAX_KEPT_BYTES = 1_024 * 1_024;

/** The JSON bytes of a completion without its texts, their notes, and its own note. */
const FRAME_BYTES = 384;

/** What a program writes, as it is retained for a {@link ProgramCompletion}. */
class CompletionOutput {
  readonly stdout: Ends;
  readonly stderr: Ends;
  readonly #most: number;

  /** @param outputBytes The most bytes of the completion as JSON. */
  constructor(outputBytes: number) {
    this.#most = Math.max(outputBytes - FRAME_BYTES, 0);
    const each = Math.floor(Math.min(this.#most, MAX_KEPT_BYTES) / 4);
    this.stdout = new Ends(each);
    this.stderr = new Ends(each);
  }

  get bytes(): number {
    return this.stdout.bytes + this.stderr.bytes;
  }

  /** Returns the completion of a program that exited with this code, within the bytes that it may have. */
  completion(exitCode: number, note?: string): ProgramCompletion {
    const [stdout, stderr] = this.#fit();
    return {
      exitCode,
      signal: signalOf(exitCode),
      stdout: stdout.text,
      stderr: stderr.text,
      truncated: !stdout.isWhole || !stderr.isWhole,
      ...(note !== undefined && { note }),
    };
  }

  /** JSON has up to six bytes for a byte of a control character: then less of each text is left. */
  #fit(): readonly [TruncatedText, TruncatedText] {
    const half = Math.floor(this.#most / 2);
    const [stdout, stderr] = [this.stdout.text(), this.stderr.text()];
    const [out, err] = [jsonBytes(stdout.text), jsonBytes(stderr.text)];
    if (out + err <= this.#most) return [stdout, stderr];
    // What one of them does not need, the other one gets.
    return [
      within(this.stdout, Math.max(half, this.#most - err), stdout, out),
      within(this.stderr, Math.max(half, this.#most - out), stderr, err),
    ];
  }
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/**
 * Passes on what a program writes, as it comes, up to half of a number of bytes. Of what follows, the end is passed on when
 * the program has ended, up to the other half.
 */
class LiveOutput {
  readonly #observer: TaskObserver;
  readonly #tail: Tail;
  #room: number;

  /** @param most The most bytes, without the note that counts those left out. */
  constructor(observer: TaskObserver, most: number) {
    this.#observer = observer;
    this.#room = Math.floor(most / 2);
    this.#tail = new Tail(this.#room);
  }

  follow(stream: Readable): void {
    const decoder = new StringDecoder("utf8");
    stream.on("data", (chunk: Buffer) => this.#add(decoder.write(chunk)));
    stream.on("end", () => this.#add(decoder.end()));
  }

  #add(text: string): void {
    if (text === "") return;
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#room) {
      this.#room = 0;
      this.#tail.add(Buffer.from(text));
    } else {
      this.#room -= bytes;
      this.#observer.output(text);
    }
  }

  /** Called when the program has ended. */
  end(): void {
    if (this.#tail.bytes === 0) return;
    const last = wholeStart(this.#tail.read());
    const leftOut = this.#tail.bytes - last.length;
    this.#observer.output(`${leftOut > 0 ? leftOutNote(leftOut) : ""}${last.toString("utf8")}`);
  }
}

/**
 * Maximum number of bytes of a failure's message: the end of what the program wrote to its standard error.
 */
const MAX_MESSAGE_BYTES = 2_000;

type OutputTask = Pick<SandboxTask, "input" | "limits" | "observer">;

/** Collects and converts what a program writes to its outputs: see `ProcessImplementation.output`. */
export class ProgramOutput {
  readonly #task: OutputTask;
  readonly #tool: ProcessImplementation;
  readonly #collected: CollectedOutput | CompletionOutput;
  readonly #live: LiveOutput | undefined;
  readonly #metered: MeteredOutput;
  /** The end of the standard error. */
  readonly #stderrTail = new Tail(MAX_MESSAGE_BYTES);
  #logLines = 0;
  #bytesRead = 0;

  /** @param room For what is read. Closed with {@link close}. */
  constructor(task: OutputTask, tool: ProcessImplementation, room: MemoryLease) {
    this.#task = task;
    this.#tool = tool;
    const bytes = task.limits.outputBytes ?? PROCESS_DEFAULTS.outputBytes;
    const isCompletion = tool.output === "completion";
    this.#collected = isCompletion ? new CompletionOutput(bytes) : new CollectedOutput(bytes);
    const isFollowed = isCompletion && task.observer.listening !== false;
    this.#live = isFollowed ? new LiveOutput(task.observer, bytes) : undefined;
    this.#metered = new MeteredOutput(room, bytes);
  }

  /**
   * Reads both outputs.
   *
   * @param stop Called when they exceed the output limit, or there will never be enough memory for them.
   *   Those of a completion are shortened instead of exceeding their limit.
   */
  read(stdout: Readable, stderr: Readable, stop: (cause: "outputBytes" | "memory") => void): void {
    const collected = this.#collected;
    if (collected instanceof CompletionOutput) {
      stdout.on("data", (chunk: Buffer) => collected.stdout.add(chunk));
      stderr.on("data", (chunk: Buffer) => collected.stderr.add(chunk));
      for (const stream of [stdout, stderr]) this.#live?.follow(stream);
    } else {
      stdout.on("data", (chunk: Buffer) => {
        if (!collected.add(chunk)) stop("outputBytes");
      });
    }
    stderr.on("data", (chunk: Buffer) => this.#stderrTail.add(chunk));
    for (const stream of [stdout, stderr])
      stream.on("data", (chunk: Buffer) => {
        this.#bytesRead += chunk.length;
      });
    // The lines of a completion are part of it.
    if (!(collected instanceof CompletionOutput)) this.#logLinesOf(stderr);
    this.#metered.read(stdout, () => stop("memory"));
    if (collected instanceof CompletionOutput) this.#metered.read(stderr, () => stop("memory"));
  }

  /** How much of both outputs has been read. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Whether output of the program waits for memory. */
  get isWaiting(): boolean {
    return this.#metered.isWaiting;
  }

  /** The text for the model if there was no memory. */
  get refusal(): string {
    return this.#metered.refusal;
  }

  /** Drops output that waits for memory, now and from now on: the program is being stopped. */
  stopWaiting(): void {
    this.#metered.stopWaiting();
  }

  /** Releases the memory. */
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
    return { outputBytes: this.#collected.bytes, logLines: this.#logLines };
  }

  /** Whether the program wrote something like this, as far as it is retained. */
  says(pattern: RegExp): boolean {
    const collected = this.#collected;
    const isIn = collected instanceof CompletionOutput && pattern.test(collected.stdout.text().text);
    return isIn || pattern.test(this.lastLines);
  }

  /** The last lines of the standard error. */
  get lastLines(): string {
    return wholeStart(this.#stderrTail.read()).toString("utf8").trim();
  }

  /**
   * Returns the output of a program that exited with this code. Throws what the tool's `result` throws.
   *
   * @param note Of the completion. Default: none.
   */
  check(code: number, note?: string): CheckedOutput {
    const collected = this.#collected;
    const { outputBytes } = this.#task.limits;
    if (code !== 0 && (collected instanceof CollectedOutput || this.#tool.failOnExit === true))
      return { status: "failed", message: this.#failure(code, note), outputBytes: collected.bytes };
    if (collected instanceof CompletionOutput) {
      const completion = collected.completion(code, note);
      const { result } = this.#tool;
      const output = result === undefined ? completion : result(completion, this.#task.input as never);
      return checkReturned(output, outputBytes, 0);
    }
    const text = collected.toString();
    if (this.#tool.output === "text") return checkReturned(text, outputBytes, 0);
    const problem = outputProblem(text);
    if (problem !== undefined) return { status: "failed", message: problem, outputBytes: collected.bytes };
    return checkOutput(text, outputBytes);
  }

  /** Returns why a program failed: its last lines, if it wrote any. */
  #failure(code: number, note?: string): string {
    const lines = this.lastLines;
    const message = lines === "" ? `The program exited with code ${code}` : shorten(lines, MAX_MESSAGE_BYTES);
    return note === undefined ? message : `${message}\n${note}`;
  }
}

/** Shortens a text to a number of bytes of JSON. */
function within(ends: Ends, most: number, collected: TruncatedText, bytes: number): TruncatedText {
  if (bytes <= most) return collected;
  // The number of bytes grows with the length: halve the interval in which it must be.
  let [fits, tooMany] = [0, Math.ceil(collected.text.length)];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (jsonBytes(ends.text(middle).text) <= most) fits = middle;
    else tooMany = middle;
  }
  return ends.text(fits);
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/** Shells and bubblewrap exit with 128 + the number of the signal that ended a program. */
function signalOf(exitCode: number): string | null {
  return (exitCode > 128 && SIGNALS.get((exitCode - 128) as never)) || null;
}
