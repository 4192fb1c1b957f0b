import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { entryBeside } from "../entry.ts";
import { ToolPreparationError } from "../sandbox.ts";

const TIMEOUT_MS = 10_000;
const HEAP_MIB = 512;
/** Pages of 64 KiB: 1 GiB for jco, which is WebAssembly itself. */
const WASM_PAGES = 16_384;
/** What jco may write beyond the component's own bytes: a small component can ask for endless code. */
const MAX_GENERATED_BYTES = 8 * 1_024 * 1_024;
const MAX_CHILDREN = 2;

const jco = createRequire(import.meta.url).resolve("@bytecodealliance/jco-transpile/component");

/** The version of jco: what it writes belongs to no other. */
export function jcoVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", pathToFileURL(jco)), "utf8"));
  return String((manifest as { readonly version?: unknown }).version);
}

/** Has jco transpile components, each in a process of its own that can reach nothing and ends in time. */
export class Transpiler {
  readonly #closing = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #children = 0;

  /**
   * Transpiles a component.
   *
   * @returns an encoded `TranspiledComponent`.
   * @throws {ToolPreparationError} with what jco said, or which bound was passed.
   */
  async transpile(binary: Uint8Array): Promise<Buffer> {
    if (this.#children >= MAX_CHILDREN) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#children++;
    try {
      const answer = await runChild(binary, this.#closing.signal);
      if (answer[0] === "+".charCodeAt(0)) return answer.subarray(1);
      throw new ToolPreparationError(answer.subarray(1).toString());
    } finally {
      this.#children--;
      this.#waiting.shift()?.();
    }
  }

  /** Ends the processes. */
  close(): void {
    this.#closing.abort();
  }
}

function runChild(binary: Uint8Array, signal: AbortSignal): Promise<Buffer> {
  const maxBytes = binary.length + MAX_GENERATED_BYTES;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const fail = (reason: string): void => reject(new ToolPreparationError(reason));
  if (signal.aborted) {
    fail("the sandbox is closed");
    return promise;
  }
  const entry = entryBeside(import.meta.filename, "transpile-child");
  const child = spawn(process.execPath, [...childFlags(entry), entry, pathToFileURL(jco).href], {
    env: {},
    stdio: ["pipe", "pipe", "pipe"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    signal,
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) {
      chunks.push(chunk);
      return;
    }
    fail(`jco writes more than ${MAX_GENERATED_BYTES} bytes of code for it`);
    child.kill("SIGKILL");
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(0, 2_048);
  });
  // It may end before it has read everything; its exit tells why.
  child.stdin.on("error", () => {}).end(binary);
  child.on("error", (error) => {
    fail(signal.aborted ? "the sandbox is closed" : `the transpiler cannot be started: ${error.message}`);
  });
  child.on("close", (code, killedBy) => {
    if (code === 0 && bytes > 0) resolve(Buffer.concat(chunks));
    else if (killedBy === "SIGKILL") fail(`jco took longer than ${TIMEOUT_MS} ms, or too much memory`);
    else fail(`jco broke on it (exit ${code ?? killedBy}): ${stderr}`);
  });
  return promise;
}

/** Node's permission model: the process may read jco and itself, and start the thread that jco's shim needs. */
function childFlags(entry: string): readonly string[] {
  return [
    "--no-warnings",
    "--permission",
    "--allow-worker",
    `--allow-fs-read=${dirname(entry)}${sep}*`,
    // For the error class that a module of ours imports.
    `--allow-fs-read=${dirname(dirname(entry))}${sep}*`,
    `--allow-fs-read=${enclosingModules(jco)}${sep}*`,
    `--max-old-space-size=${HEAP_MIB}`,
    `--wasm-max-mem-pages=${WASM_PAGES}`,
  ];
}

/** The outermost `node_modules` around a module: its imports may be resolved anywhere up to there. */
function enclosingModules(path: string): string {
  const marker = `${sep}node_modules${sep}`;
  const at = path.indexOf(marker);
  return at === -1 ? dirname(path) : path.slice(0, at + marker.length - 1);
}
