import { buffer } from "node:stream/consumers";
import { TRANSPILE_OPTIONS } from "./transpile-options.ts";
import { encodeTranspiled } from "./transpiled.ts";

/**
 * The disposable process in which jco sees a component: a bug in jco that a component can reach ends here. It
 * is started with the address of jco, reads the component from its input, and writes "+" and the encoded
 * result, or "-" and the reason.
 */
type Jco = typeof import("@bytecodealliance/jco-transpile/component");

const GUEST_DECLARATION = "interfaces/sandgate-tool-guest.d.ts";
const CALL_DECLARATION = "export function call(tool: string, input: Json, ctx: CallContext): Json;";

/** The generated module exports `instantiate` and a helper; as a function's body it returns the former. */
function toFunctionBody(module: string): string {
  return `${module.replaceAll(/^export (?=function instantiate\(|const _util\b)/gm, "")}\nreturn instantiate;`;
}

async function transpile(binary: Uint8Array): Promise<Buffer> {
  const { generate, $init } = (await import(process.argv[2] ?? "")) as Jco;
  await $init;
  const files = new Map(generate(binary, TRANSPILE_OPTIONS).files);
  const textOf = (name: string): string => Buffer.from(files.get(name) ?? []).toString();
  if (!textOf(GUEST_DECLARATION).split("\n").includes(CALL_DECLARATION)) {
    throw new Error(
      "the 'call' that it exports has another type than 'sandgate:tool/guest@0.1.0' gives it (see wit/tool.wit)",
    );
  }
  const cores = [...files].flatMap(([name, core]) => (name.endsWith(".wasm") ? { name, binary: core } : []));
  return encodeTranspiled({ source: toFunctionBody(textOf("component.js")), cores });
}

/** jco throws its own words as `payload`. */
function describe(thrown: unknown): string {
  if (typeof thrown === "object" && thrown !== null && "payload" in thrown) {
    return `jco refuses it: ${String(thrown.payload)}`;
  }
  return thrown instanceof Error ? thrown.message : String(thrown);
}

const answer = await transpile(await buffer(process.stdin)).then(
  (encoded) => Buffer.concat([Buffer.from("+"), encoded]),
  (thrown: unknown) => Buffer.from(`-${describe(thrown).slice(0, 4_096)}`),
);
// What jco itself started would keep the process alive.
process.stdout.write(answer, () => process.exit());
