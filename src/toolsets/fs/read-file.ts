import { isAscii, isUtf8 } from "node:buffer";
import { beginning } from "../../base/text.ts";
import { formatBytes } from "../../base/units.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { shownPath } from "../../tool/file-failure.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import { grantedFiles } from "../granted-files.ts";
import { inputSchema } from "../input-schema.ts";
import { FILE_PATH } from "./file-path.ts";
import { type ReadLines, readLines } from "./read-lines.ts";

/** The most lines that a call returns, also by default. */
const MAX_LINES = 2_000;

/** The most characters that a call returns, in UTF-16 code units. The model may read fewer of a result. */
const MAX_LENGTH = 100_000;

/** The room that the other members of a result take as JSON, with its note. */
const RESERVED = 400;

/** The tool `read_file`. */
export const readFile: Tool = defineTool({
  name: "read_file",
  description:
    `Reads lines of a text file, exactly as they are: at most ${MAX_LINES} lines and ${MAX_LENGTH} characters in a call. ` +
    "Returns { content, firstLine, lastLine, totalLines }, and a note if lines were left out. Large files are read only as " +
    "far as necessary, without totalLines.",
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
    const read = await readLines(grantedFiles(context), path, offset + limit - 1);
    const lines = linesAt(textOf(path, read), offset, limit);
    // The model reads the result as JSON, in which line ends and quotation marks take two characters.
    const room = Math.max((context.resultChars ?? Number.POSITIVE_INFINITY) - RESERVED, RESERVED);
    return excerpt(lines, offset, context.toolName, read.isWhole, room);
  },
});

/** Which lines of a file a call returns. */
interface Excerpt {
  /** With the line ends of the file. */
  readonly content: string;
  readonly firstLine: number;
  /** Smaller than `firstLine` if there are no lines. */
  readonly lastLine: number;
  /** Absent if the end of the file was not read. */
  readonly totalLines?: number;
  readonly note?: string;
}

/** @param room The most characters of the content as JSON. */
function excerpt(
  { starts, text, total }: Lines,
  offset: number,
  tool: string,
  isWhole: boolean,
  room: number,
): Excerpt {
  const range = { firstLine: offset, ...(isWhole && { totalLines: total }) };
  const start = starts[0];
  if (start === undefined) {
    const note = total === 0 ? "The file is empty." : `The file has only ${total} lines.`;
    return { content: "", ...range, lastLine: offset - 1, note };
  }
  let count = 0;
  let used = 0;
  while (count < starts.length - 1) {
    used += lengthAsJson(text.slice(starts[count], starts[count + 1]));
    const isFull = used > room || (starts[count + 1] as number) - start > MAX_LENGTH;
    if (isFull && count > 0) break;
    count++;
    if (isFull) break;
  }
  const whole = text.slice(start, starts[count]);
  const content = withinRoom(beginning(whole, MAX_LENGTH), room);
  const lastLine = offset + count - 1;
  const notes: string[] = [];
  if (content.length < whole.length) {
    notes.push(
      `Line ${offset} has ${whole.length} characters, of which only the first ${content.length} are shown: search for a text to see what is around it.`,
    );
  }
  if (!isWhole || lastLine < total) {
    const shown = `Lines ${offset} to ${lastLine} ${isWhole ? `of ${total} ` : ""}are shown.`;
    notes.push(`${shown} Call ${tool} with offset ${lastLine + 1} for the next ones.`);
  }
  return { content, ...range, lastLine, ...(notes.length > 0 && { note: notes.join(" ") }) };
}

function lengthAsJson(text: string): number {
  return JSON.stringify(text).length - 2;
}

/** Returns the longest beginning of a text that has room as JSON. */
function withinRoom(text: string, room: number): string {
  if (lengthAsJson(text) <= room) return text;
  let [low, high] = [0, Math.min(text.length, room)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (lengthAsJson(beginning(text, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return beginning(text, low);
}

/** Some lines of a text. */
interface Lines {
  readonly text: string;
  /** Where each of them begins, and where the last one ends. Empty if there are none. */
  readonly starts: readonly number[];
  /** The number of all lines. A line end at the end of the text begins no line. */
  readonly total: number;
}

function linesAt(text: string, offset: number, limit: number): Lines {
  const starts: number[] = [];
  let total = 0;
  for (let at = 0; at < text.length; ) {
    total++;
    if (total >= offset && total <= offset + limit) starts.push(at);
    const end = text.indexOf("\n", at);
    at = end < 0 ? text.length : end + 1;
  }
  if (starts.length > 0 && starts.length <= limit) starts.push(text.length);
  return { text, starts, total };
}

/** @throws {ToolFailure} if the bytes are not text. */
function textOf(path: string, { bytes, isWhole }: ReadLines): string {
  if (!bytes.includes(0)) {
    // Most files are in ASCII, for which nothing has to be decoded.
    if (isAscii(bytes)) return bytes.toString("latin1");
    if (isUtf8(bytes)) return bytes.toString("utf8");
  }
  throw new ToolFailure(
    "execution_error",
    `Cannot read '${shownPath(path)}' as text: it is a binary file, or not in UTF-8${isWhole ? `, of ${formatBytes(bytes.length)}` : ""}. ` +
      "Read another file, or have a program convert this one.",
    { effect: "none" },
  );
}
