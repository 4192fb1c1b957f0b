/**
 * The WASI that jco's generator is bundled with, instead of that of `@bytecodealliance/preview2-shim`: no files, no
 * arguments, no input. The generator reads its input from memory; it needs random seeds, and writes to the standard error
 * why it panics.
 */

/** The members of an interface, of which the generator takes what it knows. */
type Interface = Readonly<Record<string, unknown>>;

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

export const environment: Interface = { getEnvironment: (): readonly [] => [] };
export const exit: Interface = { exit: absent };
export const stderr: Interface = { getStderr: (): OutputStream => new OutputStream() };
export const stdin: Interface = { getStdin: (): Resource => new Resource() };
export const stdout: Interface = { getStdout: (): OutputStream => new OutputStream() };
export const terminalInput: Interface = { TerminalInput: class extends Resource {} };
export const terminalOutput: Interface = { TerminalOutput: class extends Resource {} };
export const terminalStderr: Interface = { getTerminalStderr: (): undefined => undefined };
export const terminalStdin: Interface = { getTerminalStdin: (): undefined => undefined };
export const terminalStdout: Interface = { getTerminalStdout: (): undefined => undefined };
export const preopens: Interface = { getDirectories: (): readonly [] => [] };
export const types: Interface = {
  Descriptor: class extends Resource {},
  DirectoryEntryStream: class extends Resource {},
  filesystemErrorCode: (): undefined => undefined,
};
export const error: Interface = { Error: class extends Resource {} };
export const streams: Interface = { InputStream: Resource, OutputStream };
export const random: Interface = {
  getRandomBytes: (length: bigint): Uint8Array => crypto.getRandomValues(new Uint8Array(Number(length))),
};
