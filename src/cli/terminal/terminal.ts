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

/** Every call was dispatched, even if tools failed; or no problem was found. */
export const EXIT_OK = 0;
/** `sandgate tool run`: the tool failed. */
export const EXIT_TOOL_FAILED = 1;
/** The command line, the config, the message or a tool's file is invalid. */
export const EXIT_BAD_INPUT = 2;
/** The user interrupted the command: 128 + SIGINT, the convention of shells. */
export const EXIT_INTERRUPTED = 130;

/** The exit code of the process. */
export type ExitCode =
  | typeof EXIT_OK
  | typeof EXIT_TOOL_FAILED
  | typeof EXIT_BAD_INPUT
  | typeof EXIT_INTERRUPTED;
