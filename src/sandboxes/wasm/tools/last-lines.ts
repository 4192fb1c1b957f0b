import { UNPRINTABLE } from "../../../base/unprintable.ts";
import type { TaskObserver } from "../../contract/task.ts";

const MAX_LINES = 16;
/** In UTF-16 code units. */
const MAX_LENGTH = 800;

/** Keeps the last lines that a task logs, because they often explain why it failed. Ignores streamed output. */
export class LastLines implements TaskObserver {
  readonly #lines: string[] = [];

  output(): void {}

  log(_level: string, message: string): void {
    this.#lines.push(message);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  /** Returns the end of the log as one printable line, or `""` if nothing was logged. */
  toString(): string {
    const all = this.#lines.join(" | ");
    const end = all.length > MAX_LENGTH ? `…${all.slice(-MAX_LENGTH)}` : all;
    return end.replace(UNPRINTABLE, "\ufffd");
  }
}
