import type { Readable, Writable } from "node:stream";

/** What a command reads from and writes to: a process, or a test. */
export interface Terminal {
  readonly stdin: Readable;
  /** `columns` is its width, where it has one. */
  readonly stdout: Writable & { readonly columns?: number };
  readonly stderr: Writable;
  /** Aborted when the user interrupts. */
  readonly signal?: AbortSignal;
}

/** Writes lines, and waits until they are out. A reader who is gone is no error. */
export function print(stream: Writable, text: string): Promise<void> {
  if (text === "") return Promise.resolve();
  return new Promise((resolve) => {
    stream.write(text.endsWith("\n") ? text : `${text}\n`, () => resolve());
  });
}
