import { beginning } from "../../base/text.ts";
import { formatBytes } from "../../base/units.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { shownPath } from "../../tool/file-failure.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import { grantedFiles } from "../granted-files.ts";
import { inputSchema } from "../input-schema.ts";
import { FILE_PATH } from "./file-path.ts";

/** The most lines that a call returns, also by default. */
const MAX_LINES = 2_000;

/** The most characters that a call returns, in UTF-16 code units. */
const MAX_LENGTH = 100_000;

/** The tool `read_file`. */
export const readFile: Tool = defineTool({
  name: "read_file",
  description:
    `Reads lines of a text file, exactly as they are: at most ${MAX_LINES} lines and ${MAX_LENGTH} characters in a call. ` +
    "Returns { content, firstLine, lastLine, totalLines }, and a note if lines were left out.",
  sideEffects: "read",
  usesFiles: true,
  paths: [{ argument: "/path", access: "read" }],
  inputSchema: inputSchema(
    { path: FILE_PATH },
    {
      offset: { type: "integer", minimum: 1, description: "The number of the first line. Default: 1" },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: MAX_LINES,
        description: `The most lines to return. Default: ${MAX_LINES}`,
      },
    },
  ),
  host: async ({ path, offset = 1, limit = MAX_LINES }, context) => {
    const text = textOf(path, await grantedFiles(context).readBytes(path));
    return excerpt(text, offset, limit, context.toolName);
  },
});

/** Which lines of a file a call returns. */
interface Excerpt {
  /** With the line ends of the file. */
  readonly content: string;
  readonly firstLine: number;
  /** Smaller than `firstLine` if there are no lines. */
  readonly lastLine: number;
  readonly totalLines: number;
  readonly note?: string;
}

function excerpt(text: string, offset: number, limit: number, tool: string): Excerpt {
  const starts = lineStarts(text);
  const totalLines = starts.length;
  const startOf = (line: number): number => starts[line - 1] ?? text.length;
  const range = { firstLine: offset, totalLines };
  if (offset > totalLines) {
    const note = totalLines === 0 ? "The file is empty." : `The file has only ${totalLines} lines.`;
    return { content: "", ...range, lastLine: offset - 1, note };
  }
  const start = startOf(offset);
  let lastLine = Math.min(offset + limit - 1, totalLines);
  while (lastLine > offset && startOf(lastLine + 1) - start > MAX_LENGTH) lastLine--;
  const whole = text.slice(start, startOf(lastLine + 1));
  const content = beginning(whole, MAX_LENGTH);
  const notes: string[] = [];
  if (content.length < whole.length) {
    notes.push(
      `Line ${offset} has ${whole.length} characters, of which only the first ${content.length} are shown: search for a text to see what is around it.`,
    );
  }
  if (lastLine < totalLines) {
    const shown = `Lines ${offset} to ${lastLine} of ${totalLines} are shown.`;
    notes.push(`${shown} Call ${tool} with offset ${lastLine + 1} for the next ones.`);
  }
  return { content, ...range, lastLine, ...(notes.length > 0 && { note: notes.join(" ") }) };
}

/** Returns where each line begins. A line end at the end of the text begins no line. */
function lineStarts(text: string): readonly number[] {
  const starts: number[] = [];
  for (let at = 0; at < text.length; ) {
    starts.push(at);
    const end = text.indexOf("\n", at);
    if (end < 0) break;
    at = end + 1;
  }
  return starts;
}

/** @throws {ToolFailure} if the bytes are not text. */
function textOf(path: string, bytes: Uint8Array): string {
  try {
    if (!bytes.includes(0)) return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Not UTF-8.
  }
  throw new ToolFailure(
    "execution_error",
    `Cannot read '${shownPath(path)}' as text: it is a binary file, or not in UTF-8, of ${formatBytes(bytes.length)}. ` +
      "Read another file, or have a program convert this one.",
    { effect: "none" },
  );
}
