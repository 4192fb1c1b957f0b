import { defineTool, type Tool } from "../../engine/tool.ts";
import type { Writing } from "../files/writing.ts";
import { grantedFiles } from "../granted-files.ts";
import { inputSchema } from "../input-schema.ts";
import { FILE_PATH } from "./file-path.ts";

/** Returns the tool `delete_file`. */
export function deleteFile(writing: Writing): Tool {
  return defineTool({
    name: "delete_file",
    description: "Deletes a file, a link (not what it leads to) or an empty directory, for good.",
    sideEffects: "destructive",
    confirm: "prompt",
    usesFiles: true,
    writesThroughFiles: true,
    paths: [{ argument: "/path", access: "write" }],
    inputSchema: inputSchema({
      path: FILE_PATH,
    }),
    host: ({ path }, context) =>
      writing.run(context.workspace, async () => {
        await grantedFiles(context).delete(path);
        return { deleted: true };
      }),
  });
}
