import { mkdir, readFile, writeFile } from "node:fs/promises";
import { $init, generate } from "@bytecodealliance/jco-transpile/component";
import { Piscina } from "piscina";
import { Component } from "../src/sandboxes/wasm/component.ts";
import { GUEST_CALL, guestArguments, readGuestResult } from "../src/sandboxes/wasm/guest-interface.ts";
import { ComponentInstance } from "../src/sandboxes/wasm/instance.ts";
import { LiftBudget } from "../src/sandboxes/wasm/lift-budget.ts";
import { readComponent } from "../src/sandboxes/wasm/linking/component-reader.ts";
import { contractComponent } from "../test/fixtures/wasm/contract-component.ts";
import type { Case, Question } from "./measure.ts";
import { freshPlugin } from "./peers/peers.ts";
import { dispatchCase, INPUT, INPUT_TEXT, isInput } from "./setting.ts";

const isInputText = (text: unknown): void => isInput(JSON.parse(String(text)));

interface Instance {
  readonly guest: { call(tool: string, input: string, ctx: object): string };
}

type Instantiate = (getCore: (name: string) => WebAssembly.Module, imports: object) => Instance;

/** What the component imports; the echo uses none of it. */
const JCO_IMPORTS = { "sandgate:tool/host": { log: () => {}, progress: () => {}, cancelled: () => false } };

/**
 * What does a call in a fresh instance of a component cost, beside plain jco in this thread? And through the
 * pool, beside the pool's own round trip, which takes its turn here too?
 */
export async function wasm(): Promise<Question> {
  const component = await contractComponent();
  const binary = await readFile(component);
  const { instantiate, getCore } = await plainJco(binary);
  const echo = new URL("fixtures/echo-worker.mjs", import.meta.url).href;
  const pool = new Piscina({ filename: echo, minThreads: 1, maxThreads: 1 });
  const ours = await dispatchCase("dispatch of a Wasm tool (in a thread)", "wasm", { wasm: { component } });
  const extism = await freshPlugin();
  return {
    name: "wasm",
    floor: {
      name: "jco: fresh instance and call (in this thread)",
      run: () =>
        instantiate(getCore, JCO_IMPORTS).guest.call("echo", INPUT_TEXT, {
          callId: "call",
          wallTimeMs: undefined,
        }),
      check: isInputText,
    },
    cases: [
      await freshInstance(binary),
      ...(extism === undefined ? [] : [{ name: extism.name, run: extism.run, check: isInputText }]),
      { name: "piscina run() of an echo (for comparison)", run: () => pool.run(INPUT), check: isInput },
      ours.case,
    ],
    close: async () => void (await Promise.all([ours.close(), pool.destroy()])),
  };
}

/** What a thread does for a call, apart from WASI: an instance of the component, its memories capped, and a call. */
async function freshInstance(binary: Uint8Array): Promise<Case> {
  const { artifact } = await new Component("bench", readComponent(binary)).withCap(64 * 2 ** 20);
  const call = artifact.plan.exports.get(GUEST_CALL);
  if (call === undefined) throw new Error("the component lacks 'call'");
  const context = { callId: "call", wallTimeMs: undefined };
  return {
    name: "ours: fresh instance and call (in this thread)",
    run: () => {
      const instance = new ComponentInstance(artifact, () => ({}), new LiftBudget(2 ** 20));
      return readGuestResult(instance.call(call, guestArguments("echo", INPUT_TEXT, context)));
    },
    check: (result) => isInput(JSON.parse((result as { readonly text: string }).text)),
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
