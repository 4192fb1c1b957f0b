import { deepStrictEqual, ok } from "node:assert";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { $init, generate } from "@bytecodealliance/jco-transpile/component";
import { openSandboxes } from "sandgate";
import { componentTools } from "sandgate/components";
import { Component } from "../../src/sandboxes/wasm/component/component.ts";
import { passComponentGate } from "../../src/sandboxes/wasm/component/gate.ts";
import { Validator } from "../../src/sandboxes/wasm/component/loader.ts";
import { COMPONENT_SECTION, sectionBytes } from "../../src/sandboxes/wasm/core-module/binary.ts";
import { readComponent } from "../../src/sandboxes/wasm/linking/component-reader.ts";
import { contractComponent } from "../../test/fixtures/wasm/contract-component.ts";
import type { Case, OpenCase, Question } from "../harness/case.ts";

const CAP_BYTES = 64 * 2 ** 20;

/** The cost of each step of registering a component, compared to transpiling it with jco alone. */
export const registration: Question = {
  name: "wasm-registration",
  cases: [
    {
      name: "jco: generate() (in this process, which any component can break)",
      open: async () => {
        const binary = await contractBytes();
        await $init;
        return {
          run: () => generate(binary, { name: "component", instantiation: { tag: "sync" } }).exports,
          check: (exports) => ok((exports as readonly unknown[]).length > 0),
        };
      },
    },
    {
      name: "step: bounds, names and imports",
      open: async () => {
        const binary = await contractBytes();
        const imports = passComponentGate(binary);
        return { run: () => passComponentGate(binary), check: (answer) => deepStrictEqual(answer, imports) };
      },
    },
    {
      name: "step: read and link",
      open: async () => {
        const binary = await contractBytes();
        return {
          run: () => readComponent(binary),
          check: (answer) => ok((answer as Awaited<ReturnType<typeof readComponent>>).plan.exports.size > 0),
        };
      },
    },
    {
      name: "step: wasm-tools validates (in a thread)",
      open: async () => {
        const binary = await contractBytes();
        const cores = new Component("bench", await readComponent(binary)).interruptibleCores();
        const validator = new Validator();
        return {
          run: () => validator.validate(binary, cores),
          // What is invalid is thrown.
          check: (verdict) => deepStrictEqual(verdict, undefined),
          close: () => validator.close(),
        };
      },
    },
    {
      name: "step: wasm-tools validates a component of 5.7 MB",
      open: async () => {
        const binary = await largeComponent();
        const cores = new Component("bench", await readComponent(binary)).interruptibleCores();
        await cores;
        const validator = new Validator();
        return {
          run: () => validator.validate(binary, cores),
          check: (verdict) => deepStrictEqual(verdict, undefined),
          close: () => validator.close(),
        };
      },
    },
    {
      name: "step: cap the memories and compile",
      open: async () => {
        const read = await readComponent(await contractBytes());
        return {
          run: () => new Component("bench", read).withCap(CAP_BYTES),
          check: (capped) => deepStrictEqual((capped as { key: string }).key, `bench:${CAP_BYTES / 65_536}`),
        };
      },
    },
    described("all: a component that nobody has seen", (folder, run) => join(folder, String(run))),
    described("all: one whose validity is on disk", (folder) => join(folder, "kept")),
  ],
};

/** A component with the optimised core modules of wasm-tools and of jco's generator, both written in Rust: 5.7 MB. */
async function largeComponent(): Promise<Uint8Array> {
  const folder = dirname(createRequire(import.meta.url).resolve("@bytecodealliance/jco-transpile/component"));
  const names = ["wasm-tools.core.wasm", "js-component-bindgen-component.core.wasm"];
  const modules = await Promise.all(names.map((name) => readFile(join(folder, name))));
  const sections = modules.map((module) => sectionBytes(COMPONENT_SECTION.coreModule, module));
  return Buffer.concat([COMPONENT_HEADER, ...sections]);
}

const COMPONENT_HEADER = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00);

/** Returns a case that prepares a component in new sandboxes and calls its `describe`. */
function described(name: string, cacheOf: (folder: string, run: number) => string): Case {
  const open = async (): Promise<OpenCase> => {
    const component = await contractComponent();
    const folder = await mkdtemp(join(tmpdir(), "sandgate-bench-"));
    let runs = 0;
    return {
      run: async () => {
        const cacheDirectory = cacheOf(folder, runs++);
        await using sandboxes = await openSandboxes({ workers: { threads: 1 }, wasm: { cacheDirectory } });
        return (await componentTools(component, sandboxes)).tools.map((tool) => tool.name);
      },
      check: (names) => ok((names as readonly string[]).includes("echo")),
      close: () => rm(folder, { recursive: true, force: true }),
    };
  };
  return { name: `${name}, and its 'describe' in a new thread`, open };
}

async function contractBytes(): Promise<Uint8Array> {
  return readFile(await contractComponent());
}
