import type { Readable } from "node:stream";
import { beginning } from "../../../../base/text.ts";
import type { Notify } from "../notice.ts";
import { Rate } from "../rate.ts";

/** Lines in a second that reach the log. */
const MAX_LINES = 20;

/** Characters of a line. */
const MAX_LENGTH = 1_000;

/** A line that says why a program ended, as runtimes, shells, package managers and most programs write it. */
const REASON =
  /^(?:[\w.]*(?:Error|Exception)\b(?:\s*\[\w+\])?:|.*\b(?:error|fatal|panic|panicked|ERR!|cannot|could not|failed|denied|refused|not found|no such|missing|required|invalid|unknown)\b)/i;
/** The location of an error in a program, and a heading above one: they say nothing alone. */
const NO_REASON = /^(?:\s+at |Traceback|node:|\s*throw |.*:\d+$)/;

/** Finds in the lines of a program why it ended. */
export class EndReason {
  #first: string | undefined;
  #last: string | undefined;

  /** Takes the next line. */
  add(line: string): void {
    this.#last = line;
    if (this.#first === undefined && REASON.test(line) && !NO_REASON.test(line)) this.#first = line;
  }

  /** The first line that looks like an error, or else the last line; `undefined` if there is none. */
  get line(): string | undefined {
    return this.#first ?? this.#last;
  }
}

/**
 * Reads what a server writes to its standard error, and passes on a bounded number of lines.
 *
 * @returns what of it says why the server ended, also of lines that are not passed on.
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
    // What is beyond the bound is never shown, so it need not be kept.
    pending = beginning(lines.pop() ?? "", MAX_LENGTH);
    for (const line of lines) show(line);
  });
  stderr.on("error", () => {});
  stderr.on("end", () => show(pending));
  return reason;
}
