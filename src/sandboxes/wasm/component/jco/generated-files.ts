import type { GenerateOptions } from "@bytecodealliance/jco-transpile/component";

/** Options with which jco generates code. They are part of the key of a cache entry. */
export const GENERATE_OPTIONS: GenerateOptions = {
  name: "component",
  map: [],
  instantiation: { tag: "sync" },
  noNodejsCompat: true,
  noTypescript: true,
  noComponentErrorWrapping: true,
  base64Cutoff: 0,
};

/** The maximum size of the JavaScript. A small component can generate any amount. */
export const MAX_SOURCE_BYTES: number = 8 * 1_024 * 1_024;

/** A generated file: its name and content. */
export type GeneratedFile = readonly [name: string, content: Uint8Array];

/** Each file is its name's length, its content's length, the name, and the content. */
const HEAD_BYTES = 8;

/** Writes files as bytes that {@link readGenerated} reads. */
export function writeGenerated(files: readonly GeneratedFile[]): Buffer {
  return Buffer.concat(
    files.flatMap(([name, content]) => {
      const encoded = Buffer.from(name);
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUInt32LE(encoded.length);
      head.writeUInt32LE(content.length, HEAD_BYTES / 2);
      return [head, encoded, content];
    }),
  );
}

/** Reads the bytes that {@link writeGenerated} wrote. */
export function readGenerated(bytes: Buffer): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (let at = 0; at < bytes.length; ) {
    const name = at + HEAD_BYTES;
    const content = name + bytes.readUInt32LE(at);
    const end = content + bytes.readUInt32LE(at + HEAD_BYTES / 2);
    files.set(bytes.toString("utf8", name, content), bytes.subarray(content, end));
    at = end;
  }
  return files;
}
