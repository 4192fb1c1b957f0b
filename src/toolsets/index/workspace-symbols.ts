import { formatBytes } from "../../base/units.ts";
import { FileFailure } from "../../tool/file-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { readAhead } from "../files/read-ahead.ts";
import type { Search } from "../search/search.ts";
import { symbolReader } from "./read-symbols.ts";
import type { CodeSymbol } from "./symbol.ts";

/** The largest file that is read: larger ones are mostly generated. */
const MAX_FILE_BYTES: number = 512 * 1_024;

/** The most symbols of a workspace. */
const MAX_SYMBOLS = 100_000;

/** The symbols of a file, as it was at a time. */
interface IndexedFile {
  readonly path: string;
  readonly modifiedMs: number;
  readonly size: number;
  readonly symbols: readonly CodeSymbol[];
}

/** The symbols of the files of a workspace, by their paths. */
export interface WorkspaceSymbols {
  readonly files: ReadonlyMap<string, IndexedFile>;
  /** How many symbols there are. */
  readonly size: number;
}

/** What a call may see of a workspace, and what is kept for the next one. */
interface Refreshed {
  /** Files that this call has found. */
  readonly found: WorkspaceSymbols;
  /** With files that it had no time for. */
  readonly kept: WorkspaceSymbols;
}

/**
 * Finds the files of a workspace, and reads those that have changed.
 *
 * @param before What was kept of the same workspace.
 */
export async function refreshSymbols(
  files: WorkspaceFiles,
  search: Search,
  before: WorkspaceSymbols | undefined,
): Promise<Refreshed> {
  const found = new Map<string, IndexedFile>();
  let size = 0;
  const isCode = (path: string): boolean => symbolReader(path) !== undefined;
  const read = (path: string) => readFile(files, path, search, before?.files.get(path));
  for await (const file of readAhead(search.paths(".", isCode), read)) {
    if (file === undefined) continue;
    if (size + file.symbols.length > MAX_SYMBOLS) {
      search.note(`Only the first ${size} symbols of the workspace were searched.`);
      break;
    }
    found.set(file.path, file);
    size += file.symbols.length;
  }
  const kept = new Map(found);
  let keptSize = size;
  for (const [path, file] of search.pace.hasEnded ? (before?.files ?? []) : []) {
    if (kept.has(path) || keptSize + file.symbols.length > MAX_SYMBOLS) continue;
    kept.set(path, file);
    keptSize += file.symbols.length;
  }
  return { found: { files: found, size }, kept: { files: kept, size: keptSize } };
}

/** @param known The file as it was. */
async function readFile(
  files: WorkspaceFiles,
  path: string,
  search: Search,
  known: IndexedFile | undefined,
): Promise<IndexedFile | undefined> {
  try {
    // Before it is read: if it changes meanwhile, its time is another one in the next call.
    const { modifiedMs, size } = await files.stat(path);
    if (known !== undefined && known.modifiedMs === modifiedMs && known.size === size) return known;
    if (size > MAX_FILE_BYTES) {
      search.note(`Files larger than ${formatBytes(MAX_FILE_BYTES)} were not searched.`);
      return undefined;
    }
    const text = Buffer.from(await files.readBytes(path)).toString("utf8");
    await search.pace.turn();
    const symbols = text.includes("\0") ? [] : (symbolReader(path)?.(text) ?? []);
    return { path, modifiedMs, size, symbols };
  } catch (error) {
    if (!(error instanceof FileFailure)) throw error;
    return undefined;
  }
}
