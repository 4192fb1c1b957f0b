import { buffer } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { GENERATE_OPTIONS, MAX_SOURCE_BYTES, writeGenerated } from "./generated-files.ts";

type Bindgen = typeof import("@bytecodealliance/jco-transpile/component");

/**
 * The process in which jco generates code, so that its bugs cannot harm the main process. Its arguments are the path
 * of `resource-watch.ts`, the maximum CPU time in ms, and the URL of the generator. It reads the component and writes the
 * generated files. The exit code is 1 if jco rejects the component; the reason is on standard error.
 */
async function generate(binary: Uint8Array): Promise<Buffer> {
  const { generate: generateFiles, $init } = (await import(process.argv[4] ?? "")) as Bindgen;
  await $init;
  const { files } = generateFiles(binary, GENERATE_OPTIONS);
  const source = files.find(([name]) => name.endsWith(".js"))?.[1];
  if (source === undefined || source.length > MAX_SOURCE_BYTES) {
    throw new Error(`jco generates more than ${MAX_SOURCE_BYTES} bytes of code`);
  }
  return writeGenerated(files.filter(([name]) => !name.endsWith(".ts")));
}

/** Returns the message of an error. jco's is in `payload`. */
function describe(thrown: unknown): string {
  if (typeof thrown === "object" && thrown !== null && "payload" in thrown) return String(thrown.payload);
  return thrown instanceof Error ? thrown.message : String(thrown);
}

new Worker(process.argv[2] ?? "", { workerData: Number(process.argv[3]) }).unref();
try {
  const files = await generate(await buffer(process.stdin));
  process.stdout.write(files, () => process.exit());
} catch (thrown) {
  process.stderr.write(describe(thrown).slice(0, 2_048), () => process.exit(1));
}
