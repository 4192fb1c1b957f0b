import { formatDuration } from "../../base/units.ts";
import type { HostContext } from "../../tool/implementations/implementations.ts";
import { FileFailure, shownPath } from "../../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../../tool/workspace-files.ts";
import { Pace, readAhead } from "../files/pace.ts";
import { noGaps, prefixOf, type WalkGaps, walkFiles } from "../files/walk.ts";
import { grantedFiles } from "../tool-parts.ts";
import type { PathFilter } from "./path-glob.ts";

/** How long the tools that search may take. */
export interface SearchTime {
  /** After how many milliseconds a search ends with what it has found. Default: 10,000. */
  readonly timeMs?: number;
}

/** Maximum number of files that a search looks at. */
const MAX_FILES = 100_000;

/** How many paths a note names. */
const MAX_NAMED = 3;

/** A file that is searched. */
export interface SearchedFile {
  readonly path: string;
  readonly bytes: Buffer;
}

/** Reports that the only file of a search is not UTF-8 text, so that the lack of matches means nothing. */
export function notSearched(path: string): string {
  return `'${shownPath(path)}' was not searched: it is a binary file, or in UTF-16. Have a program convert it, such as iconv.`;
}

/** One search: its time, and what it had to leave out. */
export class Search {
  readonly pace: Pace;
  readonly #files: WorkspaceFiles;
  readonly #timeMs: number;
  readonly #gaps: WalkGaps = noGaps();
  readonly #tooLarge: string[] = [];
  readonly #unread: string[] = [];
  readonly #notes = new Set<string>();

  /** @param timeMs After how many milliseconds the search ends with what it has found. */
  constructor(context: Pick<HostContext, "files" | "signal">, timeMs: number) {
    this.#files = grantedFiles(context);
    this.#timeMs = timeMs;
    this.pace = new Pace(context.signal, timeMs);
  }

  /** Adds a note on what was left out, once. */
  note(text: string): void {
    this.#notes.add(text);
  }

  /** Finds the paths of files at and below a path. `filter` gets them relative to it. */
  async *paths(start: string, filter?: PathFilter): AsyncGenerator<string, void, undefined> {
    const { length } = prefixOf(start);
    let count = 0;
    for await (const path of walkFiles(this.#files, start, { pace: this.pace, gaps: this.#gaps })) {
      if (++count > MAX_FILES) {
        this.note(
          `Only the first ${MAX_FILES} files were searched. Name a directory in path to search others.`,
        );
        return;
      }
      if (filter === undefined || filter(path === start ? path : path.slice(length))) yield path;
    }
  }

  /** Reads the files at and below a path, except for binary ones. Notes if the path is that of one. */
  async *contents(start: string, filter?: PathFilter): AsyncGenerator<SearchedFile, void, undefined> {
    for await (const file of readAhead(this.paths(start, filter), (path) => this.#read(path))) {
      if (file === undefined) continue;
      if (!file.bytes.includes(0)) yield file;
      else if (file.path === start) this.note(notSearched(start));
    }
  }

  async #read(path: string): Promise<SearchedFile | undefined> {
    try {
      const bytes = await this.#files.readBytes(path);
      return { path, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
    } catch (error) {
      if (!(error instanceof FileFailure)) throw error;
      (error.reason === "file-too-large" ? this.#tooLarge : this.#unread).push(path);
      return undefined;
    }
  }

  /** Returns what the model should know of what was left out, as a member of the output. */
  notes(): { readonly note?: string } {
    if (this.pace.hasEnded) {
      const time = formatDuration(this.#timeMs);
      this.note(
        `The search ended after ${time}, before all files were searched. Narrow it to a directory or a glob.`,
      );
    }
    this.#noteOn(this.#gaps.directories, "directories could not be listed");
    this.#noteOn(this.#gaps.ignoreFiles, "files were not applied");
    this.#noteOn(this.#tooLarge, "files larger than 16 MiB were not searched");
    this.#noteOn(this.#unread, "files could not be read");
    return this.#notes.size === 0 ? {} : { note: [...this.#notes].join(" ") };
  }

  #noteOn(paths: readonly string[], what: string): void {
    if (paths.length === 0) return;
    const more = paths.length > MAX_NAMED ? ", …" : "";
    this.note(`${paths.length} ${what}: ${paths.slice(0, MAX_NAMED).join(", ")}${more}.`);
  }
}
