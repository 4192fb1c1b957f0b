import { buffer } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { MARK } from "./compilation-report.ts";
import { LENGTH_BYTES, MAX_GENERATED_BYTES, TRANSPILE_OPTIONS, VALID } from "./transpile-options.ts";

/**
 * The process in which jco and V8's compiler first read a component, so that their bugs, and code that takes too long to
 * compile, cannot harm the main process. Its arguments are the URL of jco, the path of `resource-watch.ts`, and the
 * maximum CPU time in ms. It reads the component and its core modules as they will be compiled, and writes its verdict
 * between marks: `VALID` and the CPU time of compiling, or "-" and the reason. V8 writes to the same output what each
 * function took to compile.
 */
type Jco = typeof import("@bytecodealliance/jco-transpile/component");

async function validate([binary = new Uint8Array(), ...cores]: readonly Uint8Array[]): Promise<string> {
  const { generate, $init } = (await import(process.argv[2] ?? "")) as Jco;
  await $init;
  const { files } = generate(binary, TRANSPILE_OPTIONS);
  const bytes = files.reduce((sum, [, file]) => sum + file.length, 0);
  if (bytes - binary.length > MAX_GENERATED_BYTES) {
    throw new Error(`jco generates more than ${MAX_GENERATED_BYTES} bytes of code`);
  }
  return VALID + String(compile(cores));
}

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

/** Returns the message of an error. jco's is in `payload`. */
function describe(thrown: unknown): string {
  if (typeof thrown === "object" && thrown !== null && "payload" in thrown) {
    return `jco rejects it: ${String(thrown.payload)}`;
  }
  return thrown instanceof Error ? thrown.message : String(thrown);
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

new Worker(process.argv[3] ?? "", { workerData: Number(process.argv[4]) }).unref();
const verdict = await validate(readParts(await buffer(process.stdin))).catch(
  (thrown: unknown) => `-${describe(thrown).slice(0, 4_096)}`,
);
// Threads that jco started would keep the process alive.
process.stdout.write(MARK + verdict.replaceAll(MARK, " ") + MARK, () => process.exit());
