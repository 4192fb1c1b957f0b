import type { Readable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { beginning } from "../../../base/text.ts";
import type { LongRunningEnd, LongRunningProgram } from "../../process/long-running/running-program.ts";
import { LineSplitter, LineTooLongError } from "./message-streams.ts";
import type { Notify } from "./notice.ts";
import { Rate } from "./rate.ts";
import { UnsentError } from "./unsent.ts";
import type { WireFilter } from "./wire-filter.ts";
import { MAX_MESSAGE_BYTES, type WireMessage } from "./wire-message.ts";

/** Maximum number of lines per second that are logged. */
const MAX_LINES = 20;

/** Characters of a line. */
const MAX_LENGTH = 1_000;

/** A line that says why a program ended, as runtimes, shells, package managers and most programs write it. */
const REASON =
  /^(?:[\w.]*(?:Error|Exception)\b(?:\s*\[\w+\])?:|.*\b(?:error|fatal|panic|panicked|ERR!|cannot|could not|failed|denied|refused|not found|no such|missing|required|invalid|unknown)\b)/i;

/**
 * The location of an error in a program, the code that throws it, a heading above one, and a code that the next line explains:
 * alone, they are not informative.
 */
const NO_REASON =
  /^(?:\s+at |Traceback|node:|\s*throw |.*\bnew \w*Error\(|npm (?:error|ERR!) (?:code|errno|syscall) |.*:\d+$)/;

/**
 * Lines that do not end a program, even if they mention errors: after a time, a process or npm, a level below
 * that of errors.
 */
const NO_ERROR =
  /^(?:npm |\(node:\d+\) )?[\d\s:.,TZ+()[\]-]*(?:\[\w+\] )?(?:\w*warn(?:ing)?|notice|info|debug)\b/i;

/** Finds the reason for the end of a program in its lines. */
class EndReason {
  #first: string | undefined;
  #last: string | undefined;

  /** Adds the next line. */
  add(line: string): void {
    this.#last = line;
    if (this.#first === undefined) {
      if (REASON.test(line) && !NO_REASON.test(line) && !NO_ERROR.test(line)) this.#first = line;
    } else if (this.#first.endsWith(":")) {
      // Rust, for example, writes the location first, and the error in the next line.
      this.#first = beginning(`${this.#first} ${line.trim()}`, MAX_LENGTH);
    }
  }

  /** The first line that looks like an error, with the next one if it ends in a colon; or else the last line. `undefined` if there is none. */
  get line(): string | undefined {
    return this.#first ?? this.#last;
  }
}

/** Maximum number of bytes that wait until the server reads them. */
const MAX_WAITING_BYTES = 16 * 1_024 * 1_024;

/** Milliseconds between the end of its input, SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;

/** Speaks the stdio transport (MCP, "stdio") with a program: one message per line. */
export class StdioTransport implements Transport {
  /** The SDK treats a transport with these two members as stdio, where silence means an older server. */
  readonly stderr = null;
  readonly pid = null;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  readonly #start: () => Promise<LongRunningProgram>;
  readonly #filter: WireFilter;
  readonly #notify: Notify;
  #program: LongRunningProgram | undefined;
  #isClosed = false;

  constructor(start: () => Promise<LongRunningProgram>, filter: WireFilter, notify: Notify) {
    this.#start = start;
    this.#filter = filter;
    this.#notify = notify;
  }

  async start(): Promise<void> {
    const program = await this.#start();
    this.#program = program;
    if (this.#isClosed) {
      await program.stop(0);
      throw new UnsentError("the connection is closed");
    }
    program.stdin.on("error", () => {});
    const reason = readErrorLines(program.stderr, this.#notify);
    void this.#read(program);
    void program.ended.then((end) => this.#ended(end, reason.line));
  }

  async #read(program: LongRunningProgram): Promise<void> {
    const lines = new LineSplitter(MAX_MESSAGE_BYTES);
    try {
      for await (const bytes of program.stdout) {
        for (const line of lines.push(bytes as Buffer)) {
          if (this.#isClosed) break;
          const message = this.#receive(line);
          // The SDK handles notifications later than answers: messages that were sent before an answer must
          // be handled before it.
          if (message?.method !== undefined) await new Promise<void>((resolve) => process.nextTick(resolve));
        }
        // A server that floods must not block everything else.
        await new Promise(setImmediate);
      }
    } catch (error) {
      if (error instanceof LineTooLongError)
        this.#filter.problem(`it sent more than ${MAX_MESSAGE_BYTES} bytes in a line`);
      program.stdout.resume();
      await program.stop(0);
    }
  }

  #receive(line: Buffer): WireMessage | undefined {
    const bytes = line.at(-1) === 13 ? line.subarray(0, -1) : line;
    if (bytes.length === 0) return undefined;
    const message = this.#filter.receive(bytes);
    if (message !== undefined && !this.#filter.own.deliver(message))
      this.onmessage?.(message as unknown as JSONRPCMessage);
    return message;
  }

  #ended({ code, hasBegun, problem }: LongRunningEnd, reason: string | undefined): void {
    if (!this.#isClosed) {
      const text = hasBegun ? endText(code) : `it did not begin: ${problem}`;
      this.#notify("ended", reason === undefined ? text : `${text}: ${reason}`);
    }
    this.#isClosed = true;
    this.onclose?.();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#program?.stdin;
    if (stdin === undefined || this.#isClosed || !stdin.writable)
      throw new UnsentError("the server has ended");
    if (stdin.writableLength > MAX_WAITING_BYTES) throw new UnsentError("the server does not read its input");
    this.#filter.sending(message);
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#program?.stdin.end();
    await this.#program?.stop(GRACE_MS);
  }
}

/** The exit code of shells for an unknown program. */
const NOT_FOUND = 127;

function endText(code: number | undefined): string {
  const text = `it ended with the exit code ${code}`;
  return code === NOT_FOUND ? `${text} (it sees only the system's programs, and what 'fs' grants)` : text;
}

/**
 * Reads what a server writes to its standard error, and passes on a bounded number of lines.
 *
 * @returns the lines that say why the server ended, including those that are not passed on.
 */
export function readErrorLines(stderr: Readable, notify: Notify): EndReason {
  const rate = new Rate(MAX_LINES);
  const reason = new EndReason();
  let pending = "";
  const show = (line: string): void => {
    if (line.trim() === "") return;
    reason.add(beginning(line, MAX_LENGTH));
    if (rate.take()) notify("stderr", beginning(line, MAX_LENGTH));
    else if (rate.isFirstExcess) notify("stderr", "(more lines, which are left out)");
  };
  stderr.on("data", (bytes: Buffer) => {
    const lines = (pending + bytes.toString()).split("\n");
    // Lines beyond the bound are never shown, so they need not be stored.
    pending = beginning(lines.pop() ?? "", MAX_LENGTH);
    for (const line of lines) show(line);
  });
  stderr.on("error", () => {});
  stderr.on("end", () => show(pending));
  return reason;
}
