import { AsyncLocalStorage } from "node:async_hooks";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import { shownPath } from "../../../tool/tool-failure.ts";
import type { TaskObserver } from "../../contract/sandbox.ts";

/** How many files of a call are named. */
const MAX_NAMED = 20;

/** The functions of `node:fs` that open, list or change what their first argument names, without `Sync`. */
const FUNCTIONS: readonly string[] = [
  "open",
  "openAsBlob",
  "opendir",
  "readFile",
  "readdir",
  "readlink",
  "writeFile",
  "appendFile",
  "truncate",
  "createReadStream",
  "createWriteStream",
  "mkdir",
  "mkdtemp",
  "rm",
  "rmdir",
  "unlink",
  "rename",
  "copyFile",
  "cp",
  "link",
  "symlink",
  "chmod",
];

const running = new AsyncLocalStorage<FileAccessLog>();

/**
 * Logs the files that one call of a host tool opens by itself. Best effort: it sees the functions of
 * `node:fs` and `node:fs/promises`, which are replaced in this thread when the first such call runs, and
 * which call it belongs to by the asynchronous context. The tool's access is not restricted.
 */
export class FileAccessLog {
  readonly #toolName: string;
  readonly #warn: (message: string) => void;
  readonly #seen = new Set<string>();
  #hasEnded = false;

  /** @param warn Logs a line at level `warn`. */
  constructor(toolName: string, warn: (message: string) => void) {
    this.#toolName = toolName;
    this.#warn = warn;
  }

  /** Runs the tool. What it opens until {@link end} is logged. */
  run<Result>(act: () => Result): Result {
    replaceFunctions();
    return running.run(this, act);
  }

  /** Stops logging. The asynchronous context remains in everything that the tool started. */
  end(): void {
    this.#hasEnded = true;
  }

  add(name: string, file: unknown): void {
    const path = pathOf(file);
    if (path === undefined || this.#hasEnded || this.#seen.size > MAX_NAMED || this.#seen.has(path)) return;
    this.#seen.add(path);
    const what = this.#seen.size > MAX_NAMED ? "more files" : `'${shownPath(path)}' with fs.${name}`;
    outsideOfTool(() => this.#warn(`Tool '${this.#toolName}' opens ${what} by itself, not by context.files`));
  }
}

/** Runs code of Sandgate or of the embedder, whose accesses are not logged as the tool's. */
export function outsideOfTool<Result>(act: () => Result): Result {
  return running.getStore() === undefined ? act() : running.exit(act);
}

/** Returns an observer whose listeners may open files, such as those of a log. */
export function observerOutside(observer: TaskObserver): TaskObserver {
  return {
    listening: observer.listening !== false,
    output: (chunk) => outsideOfTool(() => observer.output(chunk)),
    log: (level, message) => outsideOfTool(() => observer.log(level, message)),
  };
}

/** A file that is already open has no path. */
function pathOf(file: unknown): string | undefined {
  if (typeof file === "string") return file;
  if (Buffer.isBuffer(file)) return file.toString();
  return file instanceof URL && file.protocol === "file:" ? fileURLToPath(file) : undefined;
}

let isReplaced = false;

/**
 * Replaces the functions once, for `import` and `require`. Outside a call, they only check whether there is
 * one.
 */
function replaceFunctions(): void {
  if (isReplaced) return;
  isReplaced = true;
  for (const name of FUNCTIONS) {
    replace(fs as unknown as Functions, name);
    replace(fs as unknown as Functions, `${name}Sync`);
    replace(fs.promises as unknown as Functions, name);
  }
  syncBuiltinESMExports();
}

type Functions = Record<string, ((...args: unknown[]) => unknown) | undefined>;

function replace(functions: Functions, name: string): void {
  const original = functions[name];
  if (original === undefined) return;
  const logged = function (this: unknown, ...args: unknown[]): unknown {
    running.getStore()?.add(name, args[0]);
    return Reflect.apply(original, this, args);
  };
  // `util.promisify` reads its own members.
  Object.defineProperties(logged, Object.getOwnPropertyDescriptors(original));
  functions[name] = logged;
}
