import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { LruMap } from "../../../base/lru-map.ts";
import { sha256InSlices } from "../../../base/slices.ts";
import type { WasmImplementation } from "../../../tool/implementations/wasm-implementation.ts";
import { type ReadComponent, readComponent } from "../linking/component-reader.ts";
import { Validator } from "../validation/validator.ts";
import { readComponentBytes } from "./bytes.ts";
import type { ComponentCache } from "./cache.ts";
import { type Compile, Component, compileCore } from "./component.ts";
import { passComponentGate } from "./gate.ts";
import { GENERATE_OPTIONS, readGenerated } from "./jco/generated-files.ts";
import { Generator } from "./jco/generator.ts";
import { readJcoComponent } from "./jco/jco-component.ts";

/** Changes with the meaning of cache entries, and with the versions of wasm-tools and of the generator. */
const CACHE_FORMAT = 8;

/** Core modules of more bytes than this are compiled in a thread: V8 copies them, which takes the main thread long. */
const COPIED_BYTES = 8 * 1_024 * 1_024;

/** The maximum number of components that are kept for tools with the same bytes. */
const MAX_SHARED = 64;

/** Loads components. Each is read when its tool is first prepared, and prepared once for all tools that use it. */
export class ComponentLoader {
  readonly #cache: ComponentCache;
  readonly #validator = new Validator();
  readonly #generator = new Generator();
  readonly #compile: Compile = (binary) =>
    binary.length > COPIED_BYTES ? this.#validator.compile(binary) : compileCore(binary);
  readonly #loaded = new WeakMap<WasmImplementation, Promise<Component>>();
  readonly #byDigest = new LruMap<string, Promise<Component>>(MAX_SHARED);

  constructor(cache: ComponentCache) {
    this.#cache = cache;
  }

  /**
   * Returns the component of a tool. A failure is not cached: the next call tries again.
   *
   * @throws {ToolPreparationError} with the reason if it cannot run here.
   */
  load(implementation: WasmImplementation): Promise<Component> {
    const known = this.#loaded.get(implementation);
    if (known !== undefined) return known;
    const loading = this.#load(implementation);
    this.#loaded.set(implementation, loading);
    loading.catch(() => this.#loaded.delete(implementation));
    return loading;
  }

  async #load({ component, engine }: WasmImplementation): Promise<Component> {
    const binary = await readComponentBytes(component);
    const digest = await sha256InSlices(binary);
    const name = `${engine ?? "own"}:${digest}`;
    const known = this.#byDigest.get(name);
    if (known !== undefined) return known;
    const building = engine === "jco" ? this.#buildJco(binary, digest) : this.#build(binary, digest);
    this.#byDigest.set(name, building);
    building.catch(() => this.#byDigest.delete(name));
    return building;
  }

  async #build(binary: Uint8Array, digest: string): Promise<Component> {
    const linked = await openComponent(binary);
    const component = new Component(digest, linked, undefined, this.#compile);
    await this.#validate(binary, component, cacheKey({ engine: "own" }, digest));
    return component;
  }

  /** The gates are the same. What is rewritten and compiled are the core modules that jco's code instantiates. */
  async #buildJco(binary: Uint8Array, digest: string): Promise<Component> {
    const read = await openComponent(binary);
    const key = cacheKey(GENERATE_OPTIONS, `files ${digest}`);
    const known = await this.#cache.read(key);
    const generated = known ?? (await this.#generator.generate(binary));
    if (known === undefined) await this.#cache.write(key, generated);
    const { linked, program } = readJcoComponent(read, readGenerated(generated));
    const component = new Component(`jco-${digest}`, linked, program, this.#compile);
    await this.#validate(binary, component, cacheKey(GENERATE_OPTIONS, digest));
    return component;
  }

  async #validate(binary: Uint8Array, component: Component, key: string): Promise<void> {
    if ((await this.#cache.read(key)) !== undefined) return;
    await this.#validator.validate(binary, component.interruptibleCores());
    await this.#cache.write(key, Buffer.from(JSON.stringify({ valid: key })));
  }

  /** Stops the preparation of components. */
  async close(): Promise<void> {
    this.#generator.close();
    await this.#validator.close();
  }
}

/** Checks a component, and reads it in another turn of the event loop. */
async function openComponent(binary: Uint8Array): Promise<ReadComponent> {
  passComponentGate(binary);
  await nextTurn(binary);
  const read = await readComponent(binary);
  await nextTurn(binary);
  return read;
}

/** Components of this size are read in one turn. */
const SMALL_BYTES = 64 * 1_024;

async function nextTurn({ length }: Uint8Array): Promise<void> {
  if (length > SMALL_BYTES) await setImmediate();
}

function cacheKey(options: object, name: string): string {
  const maker = JSON.stringify([CACHE_FORMAT, process.versions.v8, options, name]);
  return createHash("sha256").update(maker).digest("hex");
}
