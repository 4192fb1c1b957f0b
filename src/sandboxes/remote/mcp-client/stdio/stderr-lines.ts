import type { Readable } from "node:stream";
import { beginning } from "../../../../base/text.ts";
import type { Notify } from "../notice.ts";
import { Rate } from "../rate.ts";

/** Lines in a second that reach the log. */
const MAX_LINES = 20;

/** Characters of a line. */
const MAX_LENGTH = 1_000;

/** Reads what a server writes to its standard error, and passes on a bounded number of lines. */
export function readErrorLines(stderr: Readable, notify: Notify): void {
  const rate = new Rate(MAX_LINES);
  let pending = "";
  const show = (line: string): void => {
    if (line.trim() === "") return;
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
}
