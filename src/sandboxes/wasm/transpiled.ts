import { ToolPreparationError } from "../sandbox.ts";

/** A component as jco wrote it. */
export interface TranspiledComponent {
  /** The body of a function that returns `instantiate`. */
  readonly source: string;
  readonly cores: readonly TranspiledCore[];
}

/** One of its core modules. */
export interface TranspiledCore {
  /** How `source` asks for it. */
  readonly name: string;
  readonly binary: Uint8Array;
}

/** What stands before the bytes of source and cores, as JSON. */
interface Header {
  readonly sourceBytes: number;
  readonly cores: readonly { readonly name: string; readonly bytes: number }[];
}

const LENGTH_BYTES = 4;

/** Writes it as bytes: a length, a header in JSON, then the source and the cores. */
export function encodeTranspiled({ source, cores }: TranspiledComponent): Buffer {
  const sourceBytes = Buffer.from(source);
  const header: Header = {
    sourceBytes: sourceBytes.length,
    cores: cores.map(({ name, binary }) => ({ name, bytes: binary.length })),
  };
  const headerBytes = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(headerBytes.length);
  return Buffer.concat([length, headerBytes, sourceBytes, ...cores.map(({ binary }) => binary)]);
}

/**
 * Reads what {@link encodeTranspiled} wrote. The cores share the bytes' memory.
 *
 * @throws {ToolPreparationError} when it is cut off.
 */
export function decodeTranspiled(bytes: Buffer): TranspiledComponent {
  let at = 0;
  const take = (count: number): Buffer => {
    at += count;
    if (at > bytes.length) throw new ToolPreparationError("the transpiled component is cut off");
    return bytes.subarray(at - count, at);
  };
  const header = JSON.parse(take(take(LENGTH_BYTES).readUInt32LE()).toString()) as Header;
  const source = take(header.sourceBytes).toString();
  const cores = header.cores.map(({ name, bytes: count }) => ({ name, binary: take(count) }));
  return { source, cores };
}
