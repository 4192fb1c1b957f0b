/**
 * The WASI that jco's generator is bundled with, instead of that of `@bytecodealliance/preview2-shim`: no files, no
 * arguments, no input. The generator reads its input from memory; it needs random seeds, and tells on the standard error
 * why it panics.
 */

/** A function of WASI that the generator imports and does not call. */
function absent(): never {
  throw new Error("WASI is not available here");
}

class Resource {}

/** The standard error of the process. */
class OutputStream extends Resource {
  checkWrite(): bigint {
    return 4_096n;
  }

  write(bytes: Uint8Array): void {
    process.stderr.write(bytes);
  }

  blockingWriteAndFlush(bytes: Uint8Array): void {
    process.stderr.write(bytes);
  }

  blockingFlush(): void {}
}

export const environment = { getEnvironment: (): readonly [] => [] };
export const exit = { exit: absent };
export const stderr = { getStderr: (): OutputStream => new OutputStream() };
export const stdin = { getStdin: absent };
export const stdout = { getStdout: absent };
export const terminalInput = { TerminalInput: class extends Resource {} };
export const terminalOutput = { TerminalOutput: class extends Resource {} };
export const terminalStderr = { getTerminalStderr: (): undefined => undefined };
export const terminalStdin = { getTerminalStdin: (): undefined => undefined };
export const terminalStdout = { getTerminalStdout: (): undefined => undefined };
export const preopens = { getDirectories: (): readonly [] => [] };
export const types = {
  Descriptor: class extends Resource {},
  DirectoryEntryStream: class extends Resource {},
  filesystemErrorCode: (): undefined => undefined,
};
export const error = { Error: class extends Resource {} };
export const streams = { InputStream: class extends Resource {}, OutputStream };
export const random = {
  getRandomBytes: (length: bigint): Uint8Array => crypto.getRandomValues(new Uint8Array(Number(length))),
};
