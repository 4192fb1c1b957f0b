import { decode } from "@jridgewell/sourcemap-codec";
import type { GuestProgram } from "../guest-program.ts";
import { type ModulePositions, type Positions, SEGMENT_LENGTH } from "./positions.ts";
import { sourceMapUrl } from "./source-map-url.ts";

/** The most positions of all modules together. More are ignored. */
const MAX_SEGMENTS = 500_000;

/** The most source files of a module, and the longest name of each in characters. */
const MAX_SOURCES = 10_000;
const MAX_NAME_LENGTH = 256;

/**
 * Reads the source maps of a program: inline ones, and those that were read beside its modules. Runs in a thread that
 * can be ended. A map that is invalid, too large, or has sections is ignored, since only stacks depend on it.
 *
 * @returns `undefined` if there is none.
 */
export function readPositions({ sources, maps = {} }: GuestProgram): Positions | undefined {
  const positions = new Map<string, ModulePositions>();
  let left = MAX_SEGMENTS;
  for (const [name, source] of Object.entries(sources)) {
    const text = maps[name] ?? inlineMap(source);
    const read = text === undefined ? undefined : readMap(text, left);
    if (read === undefined) continue;
    positions.set(name, read);
    left -= read.segments.length / SEGMENT_LENGTH;
  }
  return positions.size === 0 ? undefined : positions;
}

function inlineMap(source: string): string | undefined {
  const url = sourceMapUrl(source);
  const start = url && /^data:application\/json(?:;charset=utf-?8)?;base64,/i.exec(url)?.[0];
  return start ? Buffer.from((url as string).slice(start.length), "base64").toString("utf8") : undefined;
}

function readMap(text: string, maxSegments: number): ModulePositions | undefined {
  try {
    const { version, mappings, sources, sourceRoot } = JSON.parse(text) as Record<string, unknown>;
    if (version !== 3 || typeof mappings !== "string" || !Array.isArray(sources)) return undefined;
    if (sources.length > MAX_SOURCES || countOf(mappings) > maxSegments) return undefined;
    const root =
      typeof sourceRoot === "string" && sourceRoot !== "" ? `${sourceRoot.replace(/\/$/, "")}/` : "";
    return { sources: sources.map((name) => shown(root + String(name))), ...segmentsOf(mappings) };
  } catch {
    return undefined;
  }
}

/** Counts the separators of mappings, so that a list is not decoded that is too long. */
function countOf(mappings: string): number {
  let count = 1;
  for (let i = 0; i < mappings.length; i++) {
    const code = mappings.charCodeAt(i);
    if (code === COMMA || code === SEMICOLON) count++;
  }
  return count;
}

const COMMA = 44;
const SEMICOLON = 59;

/** Makes a name that is part of a stack: one line, and not too long. */
function shown(name: string): string {
  return name.slice(0, MAX_NAME_LENGTH).replace(/[\s\p{C}:()]/gu, "_");
}

function segmentsOf(mappings: string): Pick<ModulePositions, "lines" | "segments"> {
  const decoded = decode(mappings);
  const lines = new Int32Array(decoded.length + 1);
  const segments: number[] = [];
  for (const [index, line] of decoded.entries()) {
    for (const [column, source, row, at] of line) {
      if (source !== undefined && row !== undefined && at !== undefined)
        segments.push(column, source, row, at);
    }
    lines[index + 1] = segments.length / SEGMENT_LENGTH;
  }
  return { lines, segments: Int32Array.from(segments) };
}
