import { deepStrictEqual } from "node:assert";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $init, generate } from "@bytecodealliance/jco-transpile/component";
import { openSandboxes } from "sandgate";
import { Component } from "../src/sandboxes/wasm/component.ts";
import { passComponentGate } from "../src/sandboxes/wasm/component-gate.ts";
import { describedTools } from "../src/sandboxes/wasm/exports/described-tools.ts";
import { GUEST_CALL } from "../src/sandboxes/wasm/guest-interface.ts";
import { type ReadComponent, readComponent } from "../src/sandboxes/wasm/linking/component-reader.ts";
import { Validator } from "../src/sandboxes/wasm/validator.ts";
import { contractComponent } from "../test/fixtures/wasm/contract-component.ts";
import type { Case, Question } from "./measure.ts";

const CAP_BYTES = 64 * 2 ** 20;

/** What does registering a component take, step by step, beside what plain jco takes to transpile it? */
export async function wasmRegistration(): Promise<Question> {
  const file = await contractComponent();
  const binary = await readFile(file);
  const read = readComponent(binary);
  const validator = new Validator();
  const folder = await mkdtemp(join(tmpdir(), "sandgate-bench-"));
  await $init;
  let fresh = 0;
  return {
    name: "wasm-registration",
    floor: {
      name: "jco: generate() (in this process, which any component can break)",
      run: () => generate(binary, { name: "component", instantiation: { tag: "sync" } }).exports,
      check: (exports) => deepStrictEqual((exports as readonly unknown[]).length > 0, true),
    },
    cases: [
      {
        name: "step: bounds, names and imports",
        run: () => passComponentGate(binary),
        check: (imports) => deepStrictEqual(imports, passComponentGate(binary)),
      },
      {
        name: "step: read and link",
        run: () => readComponent(binary),
        check: (answer) => deepStrictEqual((answer as ReadComponent).plan.exports.has(GUEST_CALL), true),
      },
      {
        name: "step: jco validates (in a process of its own)",
        run: () => validator.validate(binary),
        // What is invalid is thrown.
        check: (verdict) => deepStrictEqual(verdict, undefined),
      },
      {
        name: "step: cap the memories and compile",
        run: () => new Component("bench", read).withCap(CAP_BYTES),
        check: (capped) => deepStrictEqual((capped as { key: string }).key, `bench:${CAP_BYTES / 65_536}`),
      },
      registration("all: a component that nobody has seen", file, () => join(folder, String(++fresh))),
      registration("all: one whose validity is on disk", file, () => join(folder, "kept")),
    ],
    close: async () => {
      validator.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Registers a component in sandboxes of their own, and asks it for its tools. */
function registration(name: string, component: string, cacheDirectory: () => string): Case {
  return {
    name: `${name}, and its 'describe' in a new thread`,
    run: async () => {
      await using sandboxes = await openSandboxes({
        workers: { threads: 1 },
        wasm: { cacheDirectory: cacheDirectory() },
      });
      return (await describedTools(component, sandboxes)).map((tool) => tool.name);
    },
    check: (names) => deepStrictEqual((names as readonly string[]).includes("echo"), true),
  };
}
