import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolveDependency } from "../../../base/package-files.ts";

/** Bytes of a page of linear memory. */
export const PAGE_BYTES = 65_536;

/** Where the engine's static data ends and its stack begins, growing downwards from {@link STACK_TOP}. */
export const DATA_END = 90_208;

/**
 * Where the engine's own stack begins. The binary reserves 5 MiB for it. Guests are limited to 256 KiB, so 1 MiB is
 * enough, and less has to be zeroed between two tools.
 */
export const STACK_TOP: number = DATA_END + 1_024 * 1_024;

/** Where the heap begins. The memory between the stack and the heap is never used. */
export const HEAP_START = 5_333_088;

/** The address of the word with the end of the heap (`sbrk`). The heap never shrinks. */
export const HEAP_END_CELL = 86_864;

/** The address of the state of `Math.random` (xorshift64*, 8 bytes) in the first context that is created. */
export const RANDOM_STATE = 5_348_072;

/** The name under which the binary exports emscripten's `stackRestore`. */
export const STACK_RESTORE = "Ma";

/** The names under which the binary exports `malloc` and `free`. */
export const MALLOC = "v";
export const FREE = "M";

/** The least memory in which the engine runs: the initial memory that its binary declares, 16 MiB. */
export const MIN_MEMORY_BYTES: number = 256 * PAGE_BYTES;

/**
 * The only binary for which the addresses above are correct: quickjs-emscripten 0.32.0, RELEASE_SYNC, Bellard's
 * QuickJS 2025-09-13. Its quickjs-ng variant has a use-after-free that ordinary JavaScript can trigger.
 */
export const ENGINE_SHA256 = "105c3bed22d457e43e3d1c3c1c6959fda62a8fe06f0fc8a985303c3a2be72232";

let compiled: Promise<WebAssembly.Module> | undefined;

/**
 * Compiles the engine's binary once for each process; threads receive the module.
 *
 * @throws {PackageFileError} if it is not installed.
 * @throws {Error} if the installed binary is a different one.
 */
export function compileEngine(): Promise<WebAssembly.Module> {
  compiled ??= compile();
  return compiled;
}

async function compile(): Promise<WebAssembly.Module> {
  // Of quickjs-emscripten's packages, only the one with the binary is installed: the others are bundled.
  const bytes = await readFile(resolveDependency("@jitl/quickjs-wasmfile-release-sync/wasm"));
  if (createHash("sha256").update(bytes).digest("hex") !== ENGINE_SHA256) {
    throw new Error(
      "the QuickJS engine is not that of @jitl/quickjs-wasmfile-release-sync 0.32.0: reinstall that version",
    );
  }
  return WebAssembly.compile(bytes);
}
