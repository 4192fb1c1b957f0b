import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSWASMModule,
  RELEASE_SYNC,
} from "quickjs-emscripten";
import { compileEngine, MIN_MEMORY_BYTES } from "../../src/sandboxes/quickjs/engine/engine-binary.ts";
import { EngineInstance } from "../../src/sandboxes/quickjs/engine/engine-instance.ts";
import { loadGuest, startGuest } from "../../src/sandboxes/quickjs/thread/step-end.ts";
import { INPUT_TEXT } from "../setting.ts";

/** The work of one of our threads for a call, without the thread: restores the tool's snapshot and calls it. */
export async function ourFreshCall(): Promise<() => string> {
  return (await ourTemplate("export default (input) => input")).call;
}

/** A loaded tool: the bytes of its template, and the same work for a call of it. */
export async function ourTemplate(source: string): Promise<{ bytes: number; call: () => string }> {
  const instance = await EngineInstance.create(await compileEngine(), MIN_MEMORY_BYTES, 2 ** 26);
  instance.host = {
    isOver: () => false,
    now: () => Date.now(),
    receive: () => {},
    resolveModule: (_importer, specifier) => specifier,
    loadModule: () => "",
  };
  const sources = { "tool.js": source };
  loadGuest(instance, { entry: "tool.js", sources, exportName: "default" }, 2 ** 18);
  const template = instance.snapshot();
  const call = (): string => {
    instance.restore(template, "owner", 1n);
    const end = startGuest(instance, INPUT_TEXT);
    return end.status === "text" ? end.text.slice(1) : end.status;
  };
  return { bytes: template.bytes.byteLength, call };
}

const TOOL = "((text) => JSON.stringify(((input) => input)(JSON.parse(text))))";

/** The same with the library alone, without a driver, a deadline or random numbers per call. */
export async function bareFreshCall(): Promise<() => string> {
  const wasmMemory = new WebAssembly.Memory({ initial: 256, maximum: 1_024 });
  const variant = newVariant(RELEASE_SYNC, { wasmModule: await compileEngine(), wasmMemory });
  const library = await newQuickJSWASMModuleFromVariant(variant);
  const context = library.newRuntime().newContext();
  const tool = context.unwrapResult(context.evalCode(TOOL));
  const call = (): string => {
    const text = context.newString(INPUT_TEXT);
    return context.getString(context.unwrapResult(context.callFunction(tool, context.undefined, text)));
  };
  call();
  const memory = new Uint8Array(wasmMemory.buffer);
  const isUsed = (start: number): boolean => memory.subarray(start, start + 4_096).some((byte) => byte !== 0);
  const pages = Array.from({ length: memory.length / 4_096 }, (_, page) => page * 4_096).filter(isUsed);
  const saved = pages.map((start) => ({ start, bytes: memory.slice(start, start + 4_096) }));
  return () => {
    for (const { start, bytes } of saved) memory.set(bytes, start);
    return call();
  };
}

/** The usual way: creates everything anew for each call. */
export function callInFreshContext(library: QuickJSWASMModule): string {
  const runtime = library.newRuntime();
  const context = runtime.newContext();
  const tool = context.unwrapResult(context.evalCode(TOOL));
  const text = context.newString(INPUT_TEXT);
  const result = context.unwrapResult(context.callFunction(tool, context.undefined, text));
  const output = context.getString(result);
  for (const handle of [result, text, tool]) handle.dispose();
  context.dispose();
  runtime.dispose();
  return output;
}
