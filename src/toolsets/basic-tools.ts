import { defineTool, type Tool } from "../engine/tool.ts";
import { patchFile } from "./fs/edit-file.ts";
import { listDirectory, writeFile } from "./fs/fs-tools.ts";
import { readFile } from "./fs/read-file.ts";
import { runCommand, type ShellOptions } from "./shell-tools.ts";
import { grantedFiles, inputSchema, Writing } from "./tool-parts.ts";

const TEXT = { type: "string" } as const;
const PATH = { type: "string", minLength: 1 } as const;

const echo = defineTool({
  name: "Echo",
  description: "Returns the given text.",
  sideEffects: "none",
  inputSchema: inputSchema({ text: TEXT }),
  host: ({ text }) => ({ text }),
});

const read = defineTool({
  name: "Read",
  description: "Reads a text file. Returns its content and its size in bytes.",
  sideEffects: "read",
  usesFiles: true,
  paths: [{ argument: "/path", access: "read" }],
  inputSchema: inputSchema({ path: PATH }),
  host: async ({ path }, context) => {
    const content = await grantedFiles(context).read(path);
    return { content, size: Buffer.byteLength(content) };
  },
});

const write = defineTool({
  name: "Write",
  description: "Writes a text file: creates it, or replaces its whole content. Returns its size in bytes.",
  sideEffects: "write",
  idempotent: true,
  confirm: "prompt",
  usesFiles: "staged",
  paths: [{ argument: "/path", access: "write" }],
  inputSchema: inputSchema({ path: PATH, content: TEXT }),
  host: async ({ path, content }, context) => {
    await grantedFiles(context).write(path, content);
    return { size: Buffer.byteLength(content) };
  },
});

/** Three tools for first experiments and tests: `Echo`, `Read` and `Write`. */
export function basicTools(): readonly Tool[] {
  return [echo, read, write];
}

/** The five tools that agents need at least: `read_file`, `write_file`, `patch_file`, `list_dir` and `shell`. */
export function minimumTools(options: ShellOptions): readonly Tool[] {
  const writing = new Writing();
  return [
    readFile,
    writeFile(writing),
    patchFile(writing),
    { ...listDirectory, name: "list_dir" },
    runCommand("shell", options),
  ];
}
