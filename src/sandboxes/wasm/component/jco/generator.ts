import { dirname, sep } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { entryFile } from "../../../../base/entry-file.ts";
import { ToolPreparationError } from "../../../contract/sandbox.ts";
import { vendoredFile } from "../../vendored-file.ts";

/** The maximum CPU time of a child. Its wall time depends on the load of the machine, so its limit is only a backstop. */
const MAX_CPU_MS = 10_000;
const TIMEOUT_MS = 30_000;
const HEAP_MIB = 512;

const CHILD = entryFile("sandboxes/wasm/component/jco/generate-child");
const RESOURCE_WATCH = entryFile("sandboxes/wasm/validation/resource-watch");

/**
 * Makes jco generate the code of components. Each runs in its own process, which can read its own code and the generator,
 * and nothing else.
 */
export class Generator {
  readonly #closing = new AbortController();
  /** One process at a time: components with jco's engine are few. */
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Generates the code of a component that passed the gates.
   *
   * @returns the files, as `writeGenerated` writes them.
   * @throws {ToolPreparationError} with jco's message, or the limit that was exceeded.
   */
  generate(binary: Uint8Array): Promise<Buffer> {
    const generating = this.#last.then(() => this.#run(binary));
    this.#last = generating.catch(() => {});
    return generating;
  }

  async #run(binary: Uint8Array): Promise<Buffer> {
    const { signal } = this.#closing;
    if (signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    const bindgen = vendoredFile("js-component-bindgen-component.js");
    const readable = [dirname(CHILD), dirname(RESOURCE_WATCH), enclosingModules(bindgen)];
    const flags = [
      ...["--no-warnings", "--permission", "--allow-worker", `--max-old-space-size=${HEAP_MIB}`],
      ...readable.map((folder) => `--allow-fs-read=${folder}${sep}*`),
    ];
    const { spawn } = process.getBuiltinModule("node:child_process");
    const child = spawn(
      process.execPath,
      [...flags, CHILD, pathToFileURL(bindgen).href, RESOURCE_WATCH, String(MAX_CPU_MS)],
      {
        ...{ env: {}, stdio: ["pipe", "pipe", "pipe"], timeout: TIMEOUT_MS, killSignal: "SIGKILL", signal },
      },
    );
    // The process may end before it has read everything. Its exit gives the reason.
    child.stdin.on("error", () => {});
    child.stdin.end(binary);
    const { promise: ended, resolve, reject } = Promise.withResolvers<number | NodeJS.Signals | null>();
    child.on("close", (code, killedBy) => resolve(killedBy ?? code));
    child.on("error", (error) => reject(new ToolPreparationError(`jco cannot be started: ${error.message}`)));
    const [files, errors, end] = await Promise.all([buffer(child.stdout), text(child.stderr), ended]);
    if (end === 0) return files;
    const reason = typeof end === "string" ? "it took too much time or memory" : errors.slice(0, 2_048);
    throw new ToolPreparationError(`jco generates no code for it: ${reason}`);
  }

  /** Ends the process. */
  close(): void {
    this.#closing.abort();
  }
}

/** Returns the outermost `node_modules` that contains a module, within which its imports are resolved. */
function enclosingModules(path: string): string {
  const marker = `${sep}node_modules${sep}`;
  const at = path.indexOf(marker);
  return at === -1 ? dirname(path) : path.slice(0, at + marker.length - 1);
}
