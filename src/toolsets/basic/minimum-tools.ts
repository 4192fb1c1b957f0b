import type { Tool } from "../../engine/tool.ts";
import { Writing } from "../files/writing.ts";
import { listDirectory } from "../fs/list-directory.ts";
import { patchFile } from "../fs/patch-file.ts";
import { readFile } from "../fs/read-file.ts";
import { writeFile } from "../fs/write-file.ts";
import { runCommand, type ShellOptions } from "../shell/shell-tools.ts";

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
