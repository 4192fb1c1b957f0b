import { FileFailure, shownPath } from "../../tool/file-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";

/** How much of a file is read at a time. Smaller files are read as a whole. */
const STEP_BYTES: number = 1_024 * 1_024;

/** How much of a file is read at most. */
const MAX_BYTES: number = 16 * 1_024 * 1_024;

const LINE_FEED = 0x0a;

/** The beginning of a file. */
export interface ReadLines {
  /** All of the file, or whole lines. */
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

/**
 * Reads a file as far as a number of lines takes, at least.
 *
 * @throws {FileFailure} `file-too-large` if these are more than 16 MiB. Also throws what `readRange` does.
 */
export async function readLines(files: WorkspaceFiles, path: string, count: number): Promise<ReadLines> {
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
