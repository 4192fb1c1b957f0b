import { $init, generate } from "@bytecodealliance/jco-transpile/component";
import { LiftBudget } from "../../../../src/sandboxes/wasm/abi/lift-budget.ts";
import type { ComponentValue } from "../../../../src/sandboxes/wasm/abi/value.ts";
import type { WasmArtifact } from "../../../../src/sandboxes/wasm/artifact.ts";
import { Component } from "../../../../src/sandboxes/wasm/component/component.ts";
import { GENERATE_OPTIONS } from "../../../../src/sandboxes/wasm/component/jco/generated-files.ts";
import { readJcoComponent } from "../../../../src/sandboxes/wasm/component/loader.ts";
import { toJson } from "../../../../src/sandboxes/wasm/exports/json.ts";
import type { ComponentCalls } from "../../../../src/sandboxes/wasm/instance/calls.ts";
import { ComponentInstance } from "../../../../src/sandboxes/wasm/instance/instance.ts";
import { JcoInstance } from "../../../../src/sandboxes/wasm/instance/jco/jco-instance.ts";
import { readComponent } from "../../../../src/sandboxes/wasm/linking/component-reader.ts";

const MEMORY_CAP = 64 * 1_024 * 1_024;
const LIMITS = { memoryBytes: 256 * 1_024 * 1_024, textBytes: 256 * 1_024 * 1_024 };

/** How a call ended: with a value, as JSON text, or with a trap. */
export type End = { readonly value: string } | { readonly trap: string };

/** A component that one engine runs. An instance in which something threw is replaced. */
export class EngineRun {
  readonly #artifact: WasmArtifact;
  readonly #host: (name: string) => object;
  #instance: ComponentCalls | undefined;

  constructor(artifact: WasmArtifact, host: (name: string) => object) {
    this.#artifact = artifact;
    this.#host = host;
  }

  /** Calls an export. Each call starts in a new instance, unless the last one is to be continued. */
  call(name: string, args: readonly ComponentValue[], continues = false): End {
    const exported = this.#artifact.plan.exports.get(name);
    if (exported === undefined) throw new Error(`the component does not export '${name}'`);
    if (!continues || this.#instance === undefined) this.#instance = this.#create();
    try {
      const value = this.#instance.call(exported, args);
      const { result } = exported.type;
      return { value: JSON.stringify(result === undefined ? null : toJson(result, value)) };
    } catch (thrown) {
      this.#instance = undefined;
      return { trap: String(thrown) };
    }
  }

  #create(): ComponentCalls {
    const budget = new LiftBudget(LIMITS);
    const { jco } = this.#artifact;
    return jco === undefined
      ? new ComponentInstance(this.#artifact, this.#host, budget)
      : new JcoInstance(this.#artifact, jco, this.#host, budget);
  }
}

/** A component in both engines. */
export interface BothEngines {
  readonly ours: EngineRun;
  readonly jco: EngineRun;
}

/** Prepares a component for both engines. */
export async function bothEngines(
  binary: Uint8Array,
  host: () => (name: string) => object = () => () => ({}),
): Promise<BothEngines> {
  await $init;
  const read = await readComponent(binary);
  const own = await new Component("own", read).withCap(MEMORY_CAP);
  const { files } = generate(binary, GENERATE_OPTIONS);
  const { linked, program } = readJcoComponent(read, new Map(files));
  const generated = await new Component("jco", linked, program).withCap(MEMORY_CAP);
  return { ours: new EngineRun(own.artifact, host()), jco: new EngineRun(generated.artifact, host()) };
}
