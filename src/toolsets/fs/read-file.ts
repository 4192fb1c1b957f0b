import { isAscii, isUtf8 } from "node:buffer";
import { beginning } from "../../base/text.ts";
import { formatBytes } from "../../base/units.ts";
import { defineTool, type Tool } from "../../engine/tool.ts";
import { FileFailure, shownPath, ToolFailure } from "../../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { noteText } from "../model-texts.ts";
import { FILE_PATH, grantedFiles, inputSchema } from "../tool-parts.ts";
import { numberedLine, numberLines } from "./changed-lines.ts";

/** How much of a file is read at a time. Smaller files are read as a whole. */
const STEP_BYTES: number = 1_024 * 1_024;

/** How much of a file is read at most. */
const MAX_BYTES: number = 16 * 1_024 * 1_024;

const LINE_FEED = 0x0a;

/** The beginning of a file. */
interface ReadLines {
  /** All of the file, or whole lines. */
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

/** Maximum number of lines that a call returns, also by default. */
const MAX_LINES = 2_000;

/**
 * Maximum number of characters that a call returns, in UTF-16 code units. The model may read fewer of a
 * result.
 */
const MAX_LENGTH = 100_000;

/** The room for the note in what the model reads. */
const RESERVED = 400;

/** The tool `read_file`. */
export const readFile: Tool = defineTool({
  name: "read_file",
  description:
    `Reads lines of a text file: at most ${MAX_LINES} in a call. Each line begins with its number and a tab, as cat -n writes ` +
    "it, which are no part of the file. A note in brackets at the end says which lines were left out and how to read on.",
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
    const read = await readOrSay(grantedFiles(context), path, offset + limit - 1);
    const lines = linesAt(textOf(path, read), offset, limit);
    const room = Math.max((context.resultChars ?? Number.POSITIVE_INFINITY) - RESERVED, RESERVED);
    return excerpt(lines, offset, context.toolName, read.isWhole, room);
  },
  modelText: ({ content, firstLine, note }: Excerpt) =>
    [
      ...(content === "" ? [] : [numberLines(content, firstLine)]),
      ...(note === undefined ? [] : [noteText(note)]),
      ...(content.includes("\r\n") ? [noteText(lineEndsOf(content))] : []),
    ].join("\n"),
});

/** What the model reads of the ends of lines, which it does not see. */
function lineEndsOf(content: string): string {
  if (!/(?:^|[^\r])\n/.test(content)) return "The lines end with \\r\\n.";
  return "Some of these lines end with \\r\\n, the others with \\n.";
}

/** Says also what to do with a directory. */
async function readOrSay(files: WorkspaceFiles, path: string, count: number): Promise<ReadLines> {
  try {
    return await readLines(files, path, count);
  } catch (error) {
    if (!(error instanceof FileFailure) || error.reason !== "is-directory") throw error;
    throw new FileFailure(error.reason, `${error.message}: list what is in it instead`);
  }
}

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

/** @param room The most characters of the content with the numbers of its lines. */
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
    const length = (starts[count + 1] as number) - (starts[count] as number);
    used += numberedLine(offset + count, "").length + length;
    const isFull = used > room || (starts[count + 1] as number) - start > MAX_LENGTH;
    if (isFull && count > 0) break;
    count++;
    if (isFull) break;
  }
  const whole = text.slice(start, starts[count]);
  // Only one line can be longer than the room.
  const content = count === 1 ? beginning(whole, Math.min(MAX_LENGTH, room)) : whole;
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

/**
 * Reads a file as far as a number of lines takes, at least.
 *
 * @throws {FileFailure} `file-too-large` if these are more than 16 MiB. Also throws what `readRange` does.
 */
async function readLines(files: WorkspaceFiles, path: string, count: number): Promise<ReadLines> {
  const parts: Buffer[] = [];
  let length = 0;
  let lines = 0;
  while (length < MAX_BYTES) {
    const part = bufferOf(await files.readRange(path, length, STEP_BYTES));
    parts.push(part);
    length += part.length;
    const isWhole = part.length < STEP_BYTES;
    if (isWhole && parts.length === 1) return { bytes: part, isWhole };
    lines += isWhole ? 0 : countOf(part);
    if (!isWhole && lines < count) continue;
    const bytes = Buffer.concat(parts, length);
    return { bytes: isWhole ? bytes : bytes.subarray(0, bytes.lastIndexOf(LINE_FEED) + 1), isWhole };
  }
  const next = "Lines further down cannot be read: search the file, or have a program print a part of it.";
  throw new FileFailure(
    "file-too-large",
    `Cannot read '${shownPath(path)}' to line ${count}: that is more than 16 MiB. ${next}`,
  );
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function countOf(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) count++;
  return count;
}
