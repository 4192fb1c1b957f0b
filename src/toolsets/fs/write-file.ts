import { posix } from "node:path";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { FileFailure, shownPath, ToolFailure } from "../../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { FILE_PATH, grantedFiles, inputSchema, type Writing } from "../tool-parts.ts";
import { hasLineNumbers, NUMBERED } from "./changed-lines.ts";

/** Returns the tool `write_file`. */
export function writeFile(writing: Writing): Tool {
  return defineTool({
    name: "write_file",
    description:
      "Writes a text file: creates it, with the directories above it, or replaces its whole content. To change a part of a " +
      "file, edit it instead.",
    sideEffects: "write",
    idempotent: true,
    confirm: "prompt",
    usesFiles: "staged",
    paths: [{ argument: "/path", access: "write" }],
    inputSchema: inputSchema({
      path: FILE_PATH,
      content: { type: "string", description: "The whole new text of the file" },
    }),
    host: ({ path, content }, context) =>
      writing.run(context.workspace, async () => {
        const files = grantedFiles(context);
        if (hasLineNumbers(content))
          throw new ToolFailure("execution_error", `Cannot write '${shownPath(path)}': ${NUMBERED}`, {
            effect: "none",
          });
        await writeWithParents(files, path, content);
        return { size: Buffer.byteLength(content) };
      }),
    modelText: ({ size }: { readonly size: number }) => `The file was written: ${size} bytes.`,
  });
}

async function writeWithParents(files: WorkspaceFiles, path: string, content: string): Promise<void> {
  try {
    await files.write(path, content);
  } catch (error) {
    const isMissing = error instanceof FileFailure && error.reason === "no-entry";
    // With `..`, what is missing may be a directory that the path only leads through.
    if (!isMissing || path.split("/").includes("..")) throw error;
    await makeDirectory(files, posix.dirname(path));
    await files.write(path, content);
  }
}

/** Creates a directory and those above it, as far as they are missing. */
async function makeDirectory(files: WorkspaceFiles, path: string): Promise<void> {
  try {
    await files.mkdir(path);
  } catch (error) {
    const reason = error instanceof FileFailure ? error.reason : undefined;
    if (reason === "exist") return;
    const above = posix.dirname(path);
    if (reason !== "no-entry" || above === path) throw error;
    await makeDirectory(files, above);
    await files.mkdir(path);
  }
}
