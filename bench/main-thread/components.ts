import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { sectionBytes, u32Bytes } from "../../src/sandboxes/wasm/core-module/binary.ts";
import { inspectComponent } from "../../src/sandboxes/wasm/tools/inspect-component.ts";
import { WasmSandbox } from "../../src/sandboxes/wasm/wasm-sandbox.ts";
import type { StallCase } from "./turn-meter.ts";

const MIB = 2 ** 20;

const PREAMBLE = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

const times = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(" ");

const component = (core: string, other = ""): Promise<Uint8Array> =>
  parse(`(component
    (core module $m ${core} (func (export "run") (result i32) (i32.const 7)))
    (core instance $i (instantiate $m))
    (func (export "run") (result u32) (canon lift (core func $i "run")))
    ${other})`);

const CUSTOM = sectionBytes(0, [1, 0x61]);

/** A component with another core module, which is not instantiated: it has these sections. */
async function withCore(sections: readonly Uint8Array[]): Promise<Uint8Array> {
  const core = sectionBytes(1, PREAMBLE, Buffer.concat(sections));
  return Buffer.concat([await component(""), core]);
}

const COMPONENTS: readonly (readonly [name: string, make: () => Promise<Uint8Array>])[] = [
  ["nothing special", () => component("")],
  [
    "60 MiB of data",
    () => withCore([sectionBytes(11, [1, 1], u32Bytes(60 * MIB), Buffer.alloc(60 * MIB, 1))]),
  ],
  [
    "60 MiB in a custom section",
    async () => Buffer.concat([await component(""), sectionBytes(0, [1, 0x61], Buffer.alloc(60 * MIB))]),
  ],
  [
    "200,000 custom sections",
    async () => Buffer.concat([await component(""), ...Array<Uint8Array>(200_000).fill(CUSTOM)]),
  ],
  ["200,000 custom sections in a core module", () => withCore(Array<Uint8Array>(200_000).fill(CUSTOM))],
  [
    "30,000 types",
    () =>
      component(
        "",
        times(30_000, () => '(type (record (field "a" u32)))'),
      ),
  ],
  [
    "a type with many functions",
    () =>
      component("", `(type (instance ${times(1_200, (i) => `(export "a${i}" (func (param "x" u32)))`)}))`),
  ],
  ["400,000 functions", () => component(times(400_000, () => "(func)"))],
  [
    "12 MiB of code",
    () => component(times(120, () => `(func ${times(20_000, () => "i32.const 1000000 drop")})`)),
  ],
  [
    "200,000 loops",
    () => component(times(2_000, () => `(func ${times(100, () => "(loop (br_if 0 (i32.const 0)))")})`)),
  ],
  [
    "90,000 segments of data",
    () => component(`(memory 1) ${times(90_000, () => '(data (i32.const 0) "")')}`),
  ],
  ["30,000 exports", () => component(times(30_000, (i) => `(export "${i}" (func 0))`))],
];

/** Each is prepared in a sandbox of its own that has no cache of it: it is read, validated, rewritten and compiled. */
export const cases: readonly StallCase[] = COMPONENTS.map(([name, make]) => ({
  name: `a component with ${name}`,
  prepare: async (later) => {
    const directory = mkdtempSync(join(tmpdir(), "sandgate-stalls-"));
    later.defer(() => rmSync(directory, { recursive: true }));
    const binary = await make();
    let attempt = 0;
    return async () => {
      const cacheDirectory = join(directory, String(attempt++));
      const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
      await sandbox.prepare({ wasm: { component: binary, export: "run" } });
      await inspectComponent(binary);
      await sandbox.close();
    };
  },
}));
