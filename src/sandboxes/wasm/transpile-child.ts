import { buffer } from "node:stream/consumers";
import { MAX_GENERATED_BYTES, TRANSPILE_OPTIONS, VALID } from "./transpile-options.ts";

/**
 * The disposable process in which jco sees a component: a bug in jco that a component can reach ends here. It
 * is started with the address of jco, reads the component from its input, and writes its verdict: `VALID`, or
 * "-" and the reason.
 */
type Jco = typeof import("@bytecodealliance/jco-transpile/component");

async function validate(binary: Uint8Array): Promise<string> {
  const { generate, $init } = (await import(process.argv[2] ?? "")) as Jco;
  await $init;
  const { files } = generate(binary, TRANSPILE_OPTIONS);
  const bytes = files.reduce((sum, [, file]) => sum + file.length, 0);
  if (bytes - binary.length <= MAX_GENERATED_BYTES) return VALID;
  throw new Error(`jco writes more than ${MAX_GENERATED_BYTES} bytes of code for it`);
}

/** jco throws its own words as `payload`. */
function describe(thrown: unknown): string {
  if (typeof thrown === "object" && thrown !== null && "payload" in thrown) {
    return `jco refuses it: ${String(thrown.payload)}`;
  }
  return thrown instanceof Error ? thrown.message : String(thrown);
}

const verdict = await validate(await buffer(process.stdin)).catch(
  (thrown: unknown) => `-${describe(thrown).slice(0, 4_096)}`,
);
// What jco itself started would keep the process alive.
process.stdout.write(verdict, () => process.exit());
