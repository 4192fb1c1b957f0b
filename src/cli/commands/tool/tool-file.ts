import { open } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { defineTool, type Tool } from "../../../engine/tool.ts";

/** The first bytes of every WebAssembly file. */
const MAGIC = Buffer.from("\0asm", "latin1");

/** Returns whether a file is WebAssembly, by its extension or its first bytes. */
export async function isComponentFile(file: string): Promise<boolean> {
  if (file.endsWith(".wasm")) return true;
  try {
    await using handle = await open(file);
    // Reading from a pipe would consume it.
    if (!(await handle.stat()).isFile()) return false;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.subarray(0, bytesRead).equals(MAGIC);
  } catch {
    // The error is reported when the whole file is read.
    return false;
  }
}

/** Makes a tool of a JavaScript file. It has the file's name and takes any input. */
export function toolOfFile(file: string, exportName: string): Tool {
  const name = basename(file)
    .replace(/\.\w+$/, "")
    .replace(/[^A-Za-z0-9_-]/g, "_");
  return defineTool({
    name: name.slice(0, 64),
    description: `The JavaScript tool ${basename(file)}`,
    inputSchema: {},
    sideEffects: "none",
    quickjs: { file: resolve(file), export: exportName },
  });
}
