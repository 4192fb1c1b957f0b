import type { Duplex, Readable, Writable } from "node:stream";
import { race } from "../base/timers.ts";
import type { LongRunningProgram } from "../sandboxes/process/long-running/running-program.ts";
import { KILL_GRACE_MS } from "../sandboxes/process/process-limits.ts";
import type { AgentCalls } from "./agent-calls.ts";
import { type AgentLog, BoundedLines } from "./agent-log.ts";
import { type Answer, answerLine, MAX_LINE_BYTES, readLine, type WireCall } from "./messages.ts";

/** How an agent ended. */
export interface AgentEnd {
  /** Its exit code, or 128 and the number of the signal that ended it; `undefined` if it could not be ended. */
  readonly code: number | undefined;
  /** Why the supervisor ended it, or why it did not begin. Absent if it ended by itself. */
  readonly reason?: string;
}

/** An agent that was started. */
export interface AgentHandle {
  readonly id: string;
  /** The number of its process; of a confined agent, that of the first process of its sandbox, as this machine sees it. */
  readonly pid: number;
  /** Resolves when all its processes and calls have ended. Never rejects. */
  wait(): Promise<AgentEnd>;
  /**
   * Ends it and its calls.
   *
   * @param graceMs Milliseconds between SIGTERM and SIGKILL. Default: 5,000.
   */
  stop(graceMs?: number): Promise<AgentEnd>;
}

/** The parts of an agent. */
interface AgentParts {
  readonly id: string;
  readonly pid: number;
  readonly program: LongRunningProgram;
  readonly calls: AgentCalls;
  /** Cancels its calls. */
  readonly cancelling: AbortController;
  readonly log: AgentLog;
  /** Called when it has ended. */
  readonly onEnd: () => void;
}

/** Milliseconds that calls get to end once they are cancelled. Longer ones continue without their agent. */
const CALLS_GRACE_MS = 5_000;

/** One agent, from its start to its end. */
export class Agent implements AgentHandle {
  readonly id: string;
  readonly pid: number;
  readonly #parts: AgentParts;
  readonly #wire: AgentWire;
  readonly #ended: Promise<AgentEnd>;
  #reason: string | undefined;

  constructor(parts: AgentParts) {
    const { id, pid, program, calls, log } = parts;
    this.id = id;
    this.pid = pid;
    this.#parts = parts;
    const channel: Duplex | undefined = program.channel;
    const [input, output] =
      channel === undefined ? [program.stdout, program.stdin] : ([channel, channel] as const);
    if (channel !== undefined) log.readFrom("stdout", program.stdout);
    log.readFrom("stderr", program.stderr);
    this.#wire = new AgentWire(input, output, {
      call: (call) => calls.call(call),
      log: (text) => log.add("stdout", text),
      end: (reason) => void this.#end(REASONS[reason], 0),
      silent: () => this.#endUnlessExited(),
    });
    this.#ended = this.#finish();
  }

  wait(): Promise<AgentEnd> {
    return this.#ended;
  }

  stop(graceMs?: number): Promise<AgentEnd> {
    return this.#end("it was stopped", graceMs);
  }

  async #end(reason: string, graceMs: number | undefined): Promise<AgentEnd> {
    this.#reason ??= reason;
    this.#parts.cancelling.abort();
    void this.#parts.program.stop(graceMs);
    return this.#ended;
  }

  /** An agent that can make no more calls has nothing left to do, and exits in time. */
  #endUnlessExited(): void {
    const { program } = this.#parts;
    const timer = setTimeout(() => void this.#end(STAYED, 0), KILL_GRACE_MS);
    void program.exited.then(() => clearTimeout(timer));
  }

  async #finish(): Promise<AgentEnd> {
    const { program, calls, cancelling, log, onEnd } = this.#parts;
    await program.exited;
    this.#wire.drain();
    const { code, problem } = await program.ended;
    this.#wire.close();
    cancelling.abort();
    await race(calls.settled(), { timeoutMs: CALLS_GRACE_MS });
    const reason = problem ?? this.#reason;
    if (reason !== undefined) log.note(`the agent ended: ${reason}`);
    onEnd();
    return { code, ...(reason !== undefined && { reason }) };
  }
}

const STAYED = `it closed its output, and had not exited ${KILL_GRACE_MS / 1_000} s later`;

const REASONS: Readonly<Record<WireEnd, string>> = {
  "line too long": "it wrote a line of more than 2 MiB",
  "answers not read": "it left more than 8 MiB of answers unread",
};

/** Maximum number of bytes of answers that an agent has not read. */
const MAX_UNREAD_BYTES = 8 * 1_024 * 1_024;

/**
 * With this many calls outstanding, or lines of calls of this many bytes, nothing is read until calls have
 * ended.
 */
const MAX_OUTSTANDING = 1_024;
const MAX_OUTSTANDING_BYTES = 16 * 1_024 * 1_024;

const OUTSTANDING_TEXT = "Invalid tool call: a call with this tool_call_id is outstanding: choose another id";

/** Why the wire ends an agent. */
export type WireEnd = "line too long" | "answers not read";

/** The callbacks of a wire. */
interface WireUse {
  /** Runs a call. Never rejects. */
  readonly call: (call: WireCall) => Promise<Answer>;
  /** Gets each line that is not a call. */
  readonly log: (text: string) => void;
  /** Called once, if the agent must be ended. */
  readonly end: (reason: WireEnd) => void;
  /** Called once, when the agent has closed what it writes to, and each of its calls was answered. */
  readonly silent: () => void;
}

/**
 * Turns the lines of one agent into calls, and their ends into answers. Each call has one answer. Nothing is read while too much
 * is outstanding, so that the agent waits.
 */
export class AgentWire {
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #use: WireUse;
  readonly #lines = new BoundedLines(MAX_LINE_BYTES);
  /** The ids of the outstanding calls. */
  readonly #outstanding = new Set<string>();
  #outstandingBytes = 0;
  #isDraining = false;
  /** Answers that are written together, in the order in which they came. */
  #answers: Buffer[] = [];
  #answersBytes = 0;
  #isOver = false;
  /** Whether the agent has closed what it writes to. */
  #hasEnded = false;

  constructor(input: Readable, output: Writable, use: WireUse) {
    this.#input = input;
    this.#output = output;
    this.#use = use;
    input.on("data", (chunk: Buffer) => this.#read(chunk));
    input.once("end", () => this.#finish());
    for (const stream of [input, output]) stream.on("error", () => {});
  }

  /** Reads what an agent that has exited left in its pipe, however much is outstanding: otherwise, its end would never be noticed. */
  drain(): void {
    this.#isDraining = true;
    this.#input.resume();
  }

  /** Stops reading and writing, and drops further input, so that the end of the agent is noticed. */
  close(): void {
    this.#isOver = true;
    this.#input.resume();
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    const lines = this.#lines.push(chunk);
    for (let next = lines.next(); ; next = lines.next()) {
      if (next.done === true) {
        if (!next.value) this.#end("line too long");
        break;
      }
      this.#readLine(next.value);
      if (this.#isOver) break;
    }
    this.#pace();
  }

  #readLine(bytes: Buffer): void {
    const line = readLine(bytes);
    if (line.kind === "log") this.#use.log(line.text);
    else if (line.kind === "bad") this.#refuse(line.id, line.message);
    else if (this.#outstanding.has(line.id)) this.#refuse(line.id, OUTSTANDING_TEXT);
    else this.#run(line, bytes.length);
  }

  #run(call: WireCall, bytes: number): void {
    const { id } = call;
    this.#outstanding.add(id);
    this.#outstandingBytes += bytes;
    void this.#use.call(call).then((answer) => {
      this.#outstanding.delete(id);
      this.#outstandingBytes -= bytes;
      this.#answer(id, answer);
      this.#pace();
      this.#checkSilent();
    });
  }

  #checkSilent(): void {
    if (this.#hasEnded && this.#outstanding.size === 0 && !this.#isOver) this.#use.silent();
  }

  #refuse(id: string, message: string): void {
    this.#answer(id, { ok: false, error: "invalid_args", message });
  }

  #answer(id: string, answer: Answer): void {
    if (this.#isOver || this.#output.destroyed) return;
    const line = answerLine(id, answer);
    this.#answersBytes += line.length;
    if (this.#output.writableLength + this.#answersBytes > MAX_UNREAD_BYTES) {
      this.#end("answers not read");
      return;
    }
    // Each write is a system call. Those of calls that end at the same time come before the next tick.
    if (this.#answers.push(line) === 1) process.nextTick(() => this.#writeAnswers());
  }

  #writeAnswers(): void {
    const answers = this.#answers;
    this.#answers = [];
    this.#answersBytes = 0;
    if (this.#isOver || this.#output.destroyed) return;
    this.#output.write(answers.length === 1 ? (answers[0] as Buffer) : Buffer.concat(answers));
  }

  #pace(): void {
    if (this.#isOver || this.#isDraining) return;
    const isFull =
      this.#outstanding.size >= MAX_OUTSTANDING || this.#outstandingBytes >= MAX_OUTSTANDING_BYTES;
    if (isFull) this.#input.pause();
    else if (this.#input.isPaused()) this.#input.resume();
  }

  /** A line without an end is dropped. */
  #finish(): void {
    const { rest } = this.#lines;
    if (!this.#isOver && rest.length > 0) this.#use.log(rest.toString("utf8"));
    this.#hasEnded = true;
    this.#checkSilent();
  }

  #end(reason: WireEnd): void {
    if (this.#isOver) return;
    this.close();
    this.#use.end(reason);
  }
}
