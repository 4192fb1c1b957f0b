import { defineTool, type Tool } from "../../engine/tool.ts";
import { FileFailure } from "../../tool/file-failure.ts";
import type { Writing } from "../files/writing.ts";
import { grantedFiles } from "../granted-files.ts";
import { inputSchema } from "../input-schema.ts";
import { FILE_PATH } from "./file-path.ts";

/** Returns the tool `patch_file`. */
export function patchFile(writing: Writing): Tool {
  return defineTool({
    name: "patch_file",
    description:
      "Replaces a text that occurs exactly once in a file; otherwise it fails, and changes nothing.",
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
        await patch(() => grantedFiles(context).patch(path, old, replacement));
        return { replacements: 1 };
      }),
  });
}

/** Says also what to do if the text does not occur exactly once. */
async function patch(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof FileFailure) || error.reason !== "invalid") throw error;
    const next = error.message.endsWith("times")
      ? "Give more of the text around it."
      : "Read the file again, and copy the text exactly, with its white space.";
    throw new FileFailure("invalid", `${error.message}. ${next}`);
  }
}
