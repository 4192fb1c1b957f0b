import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { $init, generate } from "@bytecodealliance/jco-transpile/component";
import { contractComponent } from "../../test/fixtures/wasm/contract-component.ts";
import type { OpenCase } from "../harness/case.ts";
import { INPUT_TEXT, isInput } from "../setting.ts";

interface Instance {
  readonly guest: { call(tool: string, input: string, context: object): string };
}

type Instantiate = (getCore: (name: string) => WebAssembly.Module, imports: object) => Instance;

/** The imports of the component, which the echo does not use. */
const IMPORTS = { "sandgate:tool/host": { log: () => {}, progress: () => {}, cancelled: () => false } };

/** Opens a case that creates an instance and calls it with jco alone: in this thread, without a deadline. */
export async function openPlainJco(): Promise<OpenCase> {
  const { instantiate, cores } = await transpile(await readFile(await contractComponent()));
  const getCore = (name: string): WebAssembly.Module => cores.get(name) as WebAssembly.Module;
  const context = { callId: "call", wallTimeMs: undefined };
  return {
    run: () => instantiate(getCore, IMPORTS).guest.call("echo", INPUT_TEXT, context),
    check: (text) => isInput(JSON.parse(String(text))),
  };
}

async function transpile(
  component: Uint8Array,
): Promise<{ readonly instantiate: Instantiate; readonly cores: Map<string, WebAssembly.Module> }> {
  await $init;
  const { files } = generate(component, {
    name: "echo",
    instantiation: { tag: "sync" },
    noNodejsCompat: true,
    base64Cutoff: 0,
  });
  // Next to this file, so that the code that jco generates can resolve its imports.
  const folder = await mkdtemp(join(import.meta.dirname, ".cache-"));
  try {
    const cores = new Map<string, WebAssembly.Module>();
    for (const [name, bytes] of files) {
      if (name.endsWith(".wasm")) cores.set(name, await WebAssembly.compile(bytes as BufferSource));
      else if (name.endsWith(".js")) await writeFile(join(folder, "echo.mjs"), bytes);
    }
    const { instantiate } = await import(pathToFileURL(join(folder, "echo.mjs")).href);
    return { instantiate, cores };
  } finally {
    await rm(folder, { recursive: true });
  }
}
