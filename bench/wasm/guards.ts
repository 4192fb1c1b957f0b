import { deepStrictEqual } from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { newQuickJSWASMModuleFromVariant, newVariant, RELEASE_SYNC } from "quickjs-emscripten";
import { readCoreModule } from "../../src/sandboxes/wasm/core-module/core-module.ts";
import { makeInterruptible } from "../../src/sandboxes/wasm/interruptible/interruptible.ts";
import type { OpenCase, Question } from "../harness/case.ts";

/** Calls, sorts, builds text, parses JSON and matches a pattern. */
const PROGRAM = `(() => {
  const fibonacci = (n) => n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  const numbers = Array.from({ length: 1000 }, (_, i) => (i * 7919) % 1000).sort((a, b) => a - b);
  const text = numbers.join("");
  return fibonacci(15) + JSON.parse(JSON.stringify(numbers)).length + text.length + /(\\d+)9/.exec(text)[1].length;
})()`;

/** What it takes a busy core module that it is rewritten so that V8 can interrupt it. An interpreter is the example. */
export const guards: Question = {
  name: "wasm-guards",
  cases: [
    {
      name: "QuickJS as it is: a program of a millisecond, in this thread",
      open: () => openInterpreter((binary) => binary),
    },
    {
      name: "the same, rewritten so that V8 can interrupt it",
      open: () =>
        openInterpreter(async (binary) => (await makeInterruptible(binary, readCoreModule(binary))).binary),
    },
  ],
};

async function openInterpreter(
  rewrite: (binary: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<OpenCase> {
  const resolver = createRequire(createRequire(import.meta.url).resolve("quickjs-emscripten"));
  const path = resolver.resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
  const wasmModule = await WebAssembly.compile((await rewrite(await readFile(path))) as BufferSource);
  const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmModule }));
  const run = (): number => {
    using context = quickjs.newContext();
    using result = context.unwrapResult(context.evalCode(PROGRAM));
    return context.getNumber(result);
  };
  const expected = run();
  return { run, check: (answer) => deepStrictEqual(answer, expected) };
}
