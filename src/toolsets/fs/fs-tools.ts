import { posix } from "node:path";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { FileFailure, shownPath, ToolFailure } from "../../tool/tool-failure.ts";
import type { FileEntry, FileKind, WorkspaceFiles } from "../../tool/workspace-files.ts";
import { listText, onOneLine } from "../model-texts.ts";
import { FILE_PATH, grantedFiles, inputSchema, Writing } from "../tool-parts.ts";
import { hasLineNumbers, NUMBERED } from "./changed-lines.ts";
import { editFile, patchFile } from "./edit-file.ts";
import { readFile } from "./read-file.ts";

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

/** Maximum number of entries that a call returns. */
const MAX_ENTRIES = 1_000;

/** The tool `list_directory`. */
export const listDirectory: Tool = defineTool({
  name: "list_directory",
  description:
    "Lists what is in a directory, sorted by name, one on a line: directories end with /, and what is no file either, such as " +
    `a link, with @. At most ${MAX_ENTRIES} are shown, and a note if there are more.`,
  sideEffects: "read",
  usesFiles: true,
  paths: [{ argument: "/path", access: "read" }],
  inputSchema: inputSchema(
    {},
    {
      path: {
        type: "string",
        minLength: 1,
        description: "The path of the directory, relative to the workspace. Default: the workspace",
      },
      offset: { type: "integer", minimum: 0, description: "How many entries to skip. Default: 0" },
    },
  ),
  host: async ({ path = ".", offset = 0 }, context) => {
    const all = await grantedFiles(context).list(path);
    const entries = all.slice(offset, offset + MAX_ENTRIES);
    const end = offset + entries.length;
    if (offset > 0 && entries.length === 0) {
      return { entries, note: `The directory has only ${all.length} entries.` };
    }
    if (end >= all.length) return { entries };
    const shown = `Entries ${offset + 1} to ${end} of ${all.length} are shown.`;
    const note = `${shown} Call ${context.toolName} with offset ${end} for the next ones.`;
    return { entries, note };
  },
  modelText: ({ entries, note }: Listing, reader) =>
    listText(
      {
        lines: entries.map(lineOf),
        what: "entries",
        note,
        none: note === undefined ? "The directory is empty." : "No entries.",
      },
      reader,
    ),
});

/** The result of a call. */
interface Listing {
  readonly entries: readonly FileEntry[];
  readonly note?: string;
}

const MARKS: Readonly<Record<FileKind, string>> = { directory: "/", file: "", other: "@" };

function lineOf({ name, kind }: FileEntry): string {
  return onOneLine(name) + MARKS[kind];
}

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
