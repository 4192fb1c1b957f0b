import { open } from "node:fs/promises";

/** What every WebAssembly file begins with. */
const MAGIC = Buffer.from("\0asm", "latin1");

/** Whether a file is WebAssembly: by its first bytes, or its name where they say nothing. */
export async function isComponentFile(file: string): Promise<boolean> {
  if (file.endsWith(".wasm")) return true;
  try {
    await using handle = await open(file);
    // What is no file, such as a pipe, would be used up by reading it.
    if (!(await handle.stat()).isFile()) return false;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.subarray(0, bytesRead).equals(MAGIC);
  } catch {
    // Whoever reads it whole tells why it cannot be read.
    return false;
  }
}
