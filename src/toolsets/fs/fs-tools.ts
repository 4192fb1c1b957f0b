import { defineTool, type Tool } from "../../engine/tool.ts";
import { FILE_PATH, grantedFiles, inputSchema, Writing } from "../tool-parts.ts";
import { editFile, patchFile } from "./edit-file.ts";
import { listDirectory } from "./list-directory.ts";
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

/** Returns the tool `delete_file`. */
function deleteFile(writing: Writing): Tool {
  return defineTool({
    name: "delete_file",
    description: "Deletes a file, a link (not what it leads to) or an empty directory, for good.",
    sideEffects: "destructive",
    confirm: "prompt",
    usesFiles: "staged",
    paths: [{ argument: "/path", access: "write" }],
    inputSchema: inputSchema({
      path: FILE_PATH,
    }),
    host: ({ path }, context) =>
      writing.run(context.workspace, async () => {
        await grantedFiles(context).delete(path);
        return { deleted: true };
      }),
    modelText: () => "It was deleted.",
  });
}
