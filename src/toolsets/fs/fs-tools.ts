import type { Tool } from "../../engine/tool.ts";
import { Writing } from "../files/writing.ts";
import { deleteFile } from "./delete-file.ts";
import { editFile } from "./edit-file.ts";
import { listDirectory } from "./list-directory.ts";
import { patchFile } from "./patch-file.ts";
import { readFile } from "./read-file.ts";
import { writeFile } from "./write-file.ts";

/** Tools that read and change text files and directories. */
export function fsTools(): readonly Tool[] {
  const writing = new Writing();
  return [
    readFile,
    writeFile(writing),
    editFile(writing),
    patchFile(writing),
    listDirectory,
    deleteFile(writing),
  ];
}
