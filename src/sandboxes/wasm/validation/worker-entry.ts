import type { TaskThread } from "../../threads/thread-message.ts";
import { u32Bytes } from "../core-module/binary.ts";

/**
 * The function of wasm-tools that validates: it writes a component's interface as WIT, for which it validates all of the
 * component but the bodies of functions, which V8 validates.
 */
const VALIDATE = "local:wasm-tools/tools#component-wit";

/** The header of a component, and the identifier of a section with a component. */
const OUTER = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00, 0x04] as const;

/** Success of a function of WASI 0.1, and the error that it is not supported. */
const SUCCESS = 0;

const NOT_SUPPORTED = 58;

const POSITION = /\(at offset 0x([0-9a-f]+)\)/g;

const MAX_MESSAGE_LENGTH = 4_096;

/** What this file uses of an instance of wasm-tools. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly cabi_realloc: (at: number, size: number, alignment: number, newSize: number) => number;
  readonly [VALIDATE]: (at: number, length: number) => number;
}

/** The WASI 0.1 of an instance: no files, no arguments, no environment, random seeds that are always the same. */
class Host {
  memory: WebAssembly.Memory | undefined;
  /** What the instance wrote: why it panicked. */
  written = "";

  /** Its functions by name. All others that wasm-tools imports fail. */
  readonly functions: WebAssembly.ModuleImports = new Proxy<WebAssembly.ModuleImports>(
    {
      random_get: () => SUCCESS,
      environ_get: () => SUCCESS,
      environ_sizes_get: (count: number, bytes: number) => this.#set([count, 0], [bytes, 0]),
      fd_write: (_file: number, texts: number, count: number, written: number) => {
        let bytes = 0;
        for (let index = 0; index < count; index++) {
          const length = this.#get(texts + index * 8 + 4);
          this.written = (this.written + this.text(this.#get(texts + index * 8), length)).slice(0, 1_024);
          bytes += length;
        }
        return this.#set([written, bytes]);
      },
    },
    { get: (known, name) => known[String(name)] ?? (() => NOT_SUPPORTED) },
  );

  text(at: number, length: number): string {
    return Buffer.from(this.#buffer, at, length).toString();
  }

  get #buffer(): ArrayBuffer {
    return this.memory?.buffer ?? new ArrayBuffer(0);
  }

  #get(at: number): number {
    return new DataView(this.#buffer).getUint32(at, true);
  }

  #set(...values: readonly (readonly [at: number, value: number])[]): number {
    const view = new DataView(this.#buffer);
    for (const [at, value] of values) view.setUint32(at, value, true);
    return SUCCESS;
  }
}

/**
 * The message that has a thread validate a component, or compile a core module. The thread's artifact is wasm-tools,
 * compiled.
 */
export interface ValidationTask {
  readonly kind: "validate" | "compile";
  readonly binary: Uint8Array;
}

/** Why the binary is not valid; otherwise the compiled module, or nothing for a component. */
export type ValidationAnswer = string | WebAssembly.Module | undefined;

/** Validates one component, or compiles one core module. */
export default function runValidation(
  { kind, binary }: ValidationTask,
  thread: TaskThread,
): ValidationAnswer {
  thread.markStarted();
  if (kind === "validate") return validateComponent(thread.artifact as WebAssembly.Module, binary);
  try {
    return new WebAssembly.Module(binary as BufferSource);
  } catch (error) {
    return String(error);
  }
}

/**
 * Validates a component in a new instance of wasm-tools, which has no access to anything: what a component makes of it
 * ends with the call.
 *
 * The component is validated inside another one that exports nothing, because not every valid component has an
 * interface in WIT.
 *
 * @param module wasm-tools.
 * @returns why it is not valid; `undefined` if it is.
 */
function validateComponent(module: WebAssembly.Module, binary: Uint8Array): string | undefined {
  const host = new Host();
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: host.functions });
  const exports = instance.exports as unknown as Exports;
  host.memory = exports.memory;
  const header = [...OUTER, ...u32Bytes(binary.length)];
  const length = header.length + binary.length;
  const at = exports.cabi_realloc(0, 0, 1, length);
  const input = new Uint8Array(exports.memory.buffer, at, length);
  input.set(header);
  input.set(binary, header.length);
  let result: number;
  try {
    result = exports[VALIDATE](at, length);
  } catch (thrown) {
    return `the validator failed: ${host.written || String(thrown)}`.slice(0, MAX_MESSAGE_LENGTH);
  }
  const view = new DataView(exports.memory.buffer);
  const isError = view.getUint8(result) !== 0;
  if (!isError) return undefined;
  const text = host.text(view.getUint32(result + 4, true), view.getUint32(result + 8, true));
  return insideOf(text.slice(0, MAX_MESSAGE_LENGTH), header.length);
}

/** Returns wasm-tools' message with the reason only, and positions counted from the beginning of the inner component. */
function insideOf(message: string, headerLength: number): string {
  const reason = message.slice(message.indexOf("\n") + 1);
  return reason.replaceAll(POSITION, (_, hex: string) => {
    return `(at byte ${Math.max(0, Number.parseInt(hex, 16) - headerLength)})`;
  });
}
