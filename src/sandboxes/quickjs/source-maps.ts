const COMMENT = "//# sourceMappingURL=";

/** Where the code of a module was written, from its source map. */
export interface ModulePositions {
  /** The names of the source files. Untrusted, and only shown. */
  readonly sources: readonly string[];
  /** The index in {@link segments} where each line of the module begins, and after the last one its length. */
  readonly lines: Int32Array;
  /** For each position of the module: column, index in {@link sources}, line, column. All from 0. */
  readonly segments: Int32Array;
}

/** The positions of a tool's modules by their names. */
export type Positions = ReadonlyMap<string, ModulePositions>;

/** The integers of each segment. */
export const SEGMENT_LENGTH = 4;

/** The longest stack frame that is translated, in characters. */
const MAX_FRAME_LENGTH = 1_024;

/** The memory of positions, in bytes. */
export function sizeOfPositions(positions: Positions | undefined): number {
  let bytes = 0;
  for (const { lines, segments } of positions?.values() ?? [])
    bytes += lines.byteLength + segments.byteLength;
  return bytes;
}

/** Translates the frames of a text to where their code was written. It takes time linear in the length of the text. */
export function translateFrames(text: string, positions: Positions): string {
  if (positions.size === 0) return text;
  return text
    .split("\n")
    .map((line) => translateFrame(line, positions))
    .join("\n");
}

/** Translates a frame such as `    at f (tool.js:1:203)`; returns other lines as they are. */
function translateFrame(frame: string, positions: Positions): string {
  if (frame.length > MAX_FRAME_LENGTH || !frame.trimStart().startsWith("at ")) return frame;
  const end = frame.endsWith(")") ? frame.length - 1 : frame.length;
  const start = Math.max(frame.lastIndexOf("("), frame.lastIndexOf(" ")) + 1;
  const [module = "", line, column] = frame.slice(start, end).split(":");
  const found = positions.get(module);
  const original = found && originalOf(found, Number(line) - 1, Number(column) - 1);
  return original === undefined ? frame : frame.slice(0, start) + original + frame.slice(end);
}

/** Finds the last segment of a line that does not begin after a column. */
function originalOf(
  { sources, lines, segments }: ModulePositions,
  line: number,
  column: number,
): string | undefined {
  let low = lines[line] ?? 0;
  let high = lines[line + 1] ?? 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((segments[middle * SEGMENT_LENGTH] ?? 0) <= column) low = middle + 1;
    else high = middle;
  }
  if (low === (lines[line] ?? 0)) return undefined;
  const [, source = -1, row = 0, at = 0] = segments.subarray(
    (low - 1) * SEGMENT_LENGTH,
    low * SEGMENT_LENGTH,
  );
  const name = sources[source];
  return name === undefined ? undefined : `${name}:${row + 1}:${at + 1}`;
}

/** Returns the URL of the comment that a module ends with; `undefined` if it has none. */
export function sourceMapUrl(source: string): string | undefined {
  const at = source.lastIndexOf(COMMENT);
  if (at < 0) return undefined;
  const url = source.slice(at + COMMENT.length).trim();
  return url === "" || /\s/.test(url) ? undefined : url;
}

/** Returns the name of a source map that is a file beside its module; `undefined` for any other URL. */
export function mapFileBeside(source: string): string | undefined {
  const url = sourceMapUrl(source);
  return url !== undefined && url.length <= 255 && /^[\w-][\w.-]*\.map$/.test(url) ? url : undefined;
}
