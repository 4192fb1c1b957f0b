import { dirname, sep } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { entryFile } from "../../../../base/entry-file.ts";
import { ToolPreparationError } from "../../../contract/sandbox.ts";
import { startLimitedChild } from "../../validation/limited-child.ts";
import { vendoredFile } from "../../vendored-file.ts";

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
    const args = [pathToFileURL(bindgen).href];
    const entry = entryFile("sandboxes/wasm/component/jco/generate-child");
    const child = startLimitedChild(entry, { signal, args, readable: [enclosingModules(bindgen)] });
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
