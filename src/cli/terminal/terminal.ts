import type { Readable, Writable } from "node:stream";

/** The streams of a command: those of the process, or of a test. */
export interface Terminal {
  readonly stdin: Readable;
  /** `columns` is the width of a terminal. */
  readonly stdout: Writable & { readonly columns?: number };
  readonly stderr: Writable;
  /** Aborted when the user interrupts. */
  readonly signal?: AbortSignal;
}

/** Writes lines and waits until they are flushed. A closed stream is not an error. */
export function print(stream: Writable, text: string): Promise<void> {
  if (text === "") return Promise.resolve();
  return new Promise((resolve) => {
    stream.write(text.endsWith("\n") ? text : `${text}\n`, () => resolve());
  });
}
