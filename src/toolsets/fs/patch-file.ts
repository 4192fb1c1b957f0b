import { TextFinder } from "../../base/text-finder.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { FileFailure, shownPath } from "../../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import type { Writing } from "../files/writing.ts";
import { grantedFiles } from "../granted-files.ts";
import { inputSchema } from "../input-schema.ts";
import { changedLines, editText } from "./changed-lines.ts";
import { missing } from "./edit-file.ts";
import { FILE_PATH } from "./file-path.ts";
import { hasLineNumbers, NUMBERED } from "./numbered-lines.ts";

/** Returns the tool `patch_file`. */
export function patchFile(writing: Writing): Tool {
  return defineTool({
    name: "patch_file",
    description:
      "Replaces a text that occurs exactly once in a file; otherwise it fails, and changes nothing. The text stands there " +
      "without the line numbers that read_file shows. Shows the changed lines.",
    sideEffects: "write",
    confirm: "prompt",
    usesFiles: true,
    writesThroughFiles: true,
    paths: [{ argument: "/path", access: "write" }],
    inputSchema: inputSchema({
      path: FILE_PATH,
      old: { type: "string", minLength: 1, description: "The exact text in the file, with its white space" },
      new: { type: "string", description: "The text to put in its place" },
    }),
    host: ({ path, old, new: replacement }, context) =>
      writing.run(context.workspace, async () => {
        const files = grantedFiles(context);
        const before = await files.read(path);
        await patch(files, before, path, old, replacement);
        const at = new TextFinder(old).indexIn(before);
        const after = before.slice(0, at) + replacement + before.slice(at + old.length);
        return { replacements: 1, changed: changedLines(before, after) };
      }),
    modelText: editText,
  });
}

/** Says also what to do if the text does not occur exactly once. */
async function patch(
  files: WorkspaceFiles,
  before: string,
  path: string,
  old: string,
  replacement: string,
): Promise<void> {
  if (hasLineNumbers(replacement) && !hasLineNumbers(old) && new TextFinder(old).indexIn(before) >= 0)
    throw new FileFailure("invalid", `Cannot patch '${shownPath(path)}': ${NUMBERED}`);
  try {
    await files.patch(path, old, replacement);
  } catch (error) {
    if (!(error instanceof FileFailure) || error.reason !== "invalid") throw error;
    if (error.message.endsWith("times"))
      throw new FileFailure("invalid", `${error.message}. Give more of the text around it.`);
    throw new FileFailure("invalid", `Cannot patch '${shownPath(path)}': ${missing(before, old)}`);
  }
}
