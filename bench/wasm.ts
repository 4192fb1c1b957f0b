import { mkdir, readFile, writeFile } from "node:fs/promises";
import { $init, generate } from "@bytecodealliance/jco-transpile/component";
import { contractComponent } from "../test/fixtures/wasm/contract-component.ts";
import type { Question } from "./measure.ts";
import { dispatchCase, INPUT_TEXT, isInput } from "./setting.ts";

interface Instance {
  readonly guest: { call(tool: string, input: string, ctx: object): string };
}

type Instantiate = (getCore: (name: string) => WebAssembly.Module, imports: object) => Instance;

/** What does a call in a fresh instance of a component cost, beside plain jco in this thread? */
export async function wasm(): Promise<Question> {
  const component = await contractComponent();
  const { instantiate, getCore } = await plainJco(await readFile(component));
  const ours = await dispatchCase("dispatch of a Wasm tool (in a thread)", "wasm", { wasm: { component } });
  return {
    name: "wasm",
    floor: {
      name: "jco: fresh instance and call (in this thread)",
      run: () =>
        instantiate(getCore, {}).guest.call("echo", INPUT_TEXT, { callId: "call", wallTimeMs: undefined }),
      check: (text) => isInput(JSON.parse(String(text))),
    },
    cases: [ours.case],
    close: ours.close,
  };
}

async function plainJco(
  component: Uint8Array,
): Promise<{ instantiate: Instantiate; getCore: (name: string) => WebAssembly.Module }> {
  const folder = new URL(".cache/", import.meta.url);
  await mkdir(folder, { recursive: true });
  await $init;
  const { files } = generate(component, {
    name: "echo",
    instantiation: { tag: "sync" },
    noNodejsCompat: true,
    base64Cutoff: 0,
  });
  const cores = new Map<string, WebAssembly.Module>();
  for (const [name, bytes] of files) {
    if (name.endsWith(".wasm")) cores.set(name, await WebAssembly.compile(bytes as BufferSource));
    else if (name.endsWith(".js")) await writeFile(new URL("echo.mjs", folder), bytes);
  }
  const { instantiate } = await import(new URL("echo.mjs", folder).href);
  return { instantiate, getCore: (name) => cores.get(name) as WebAssembly.Module };
}
