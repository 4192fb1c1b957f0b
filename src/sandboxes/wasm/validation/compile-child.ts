import { buffer } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { COMPILED, LENGTH_BYTES, MARK } from "./compilation-report.ts";

/**
 * The process in which V8 first compiles code that may take long, so that it cannot harm the main process. Its arguments
 * are the path of `resource-watch.ts` and the maximum CPU time in ms. It reads core modules as they will be compiled, and
 * writes its verdict between marks: `COMPILED` and the CPU time, or "-" and the reason. V8 writes to the same output what
 * each function took to compile.
 */
/** Makes V8 compile every function as threads do on its first call. Returns the CPU time in ms. */
function compile(cores: readonly Uint8Array[]): number {
  for (const flag of COMPILE_ALL) setFlagsFromString(flag);
  const before = process.cpuUsage();
  for (const core of cores) new WebAssembly.Module(core as BufferSource);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const COMPILE_ALL: readonly string[] = [
  "--no-wasm-lazy-compilation",
  "--no-wasm-tier-up",
  "--no-wasm-dynamic-tiering",
  "--trace-wasm-compilation-times",
];

function verdictOn(cores: readonly Uint8Array[]): string {
  try {
    return COMPILED + String(compile(cores));
  } catch (thrown) {
    return `-a core module does not compile: ${String(thrown).slice(0, 4_096)}`;
  }
}

/** Splits the input into its parts. */
function readParts(input: Buffer): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < input.length; ) {
    const start = at + LENGTH_BYTES;
    at = start + input.readUInt32LE(at);
    parts.push(input.subarray(start, at));
  }
  return parts;
}

new Worker(process.argv[2] ?? "", { workerData: Number(process.argv[3]) }).unref();
const verdict = verdictOn(readParts(await buffer(process.stdin)));
process.stdout.write(MARK + verdict.replaceAll(MARK, " ") + MARK, () => process.exit());
