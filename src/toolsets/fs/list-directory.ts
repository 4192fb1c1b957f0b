import { defineTool, type Tool } from "../../engine/tool.ts";
import type { FileEntry, FileKind } from "../../tool/workspace-files.ts";
import { listText, onOneLine } from "../model-texts.ts";
import { grantedFiles, inputSchema } from "../tool-parts.ts";

/** The most entries that a call returns. */
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
