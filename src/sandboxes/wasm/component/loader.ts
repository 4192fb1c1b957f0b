import { createHash } from "node:crypto";
import { LruMap } from "../../../base/lru-map.ts";
import type { WasmImplementation } from "../../../tool/implementations/wasm-implementation.ts";
import { readComponent } from "../linking/component-reader.ts";
import { Validator } from "../validation/validator.ts";
import { readComponentBytes } from "./bytes.ts";
import type { ComponentCache } from "./cache.ts";
import { Component } from "./component.ts";
import { passComponentGate } from "./gate.ts";

/** Changes with the meaning of cache entries, and with the version of wasm-tools. */
const CACHE_FORMAT = 7;

/** The maximum number of components that are kept for tools with the same bytes. */
const MAX_SHARED = 64;

/** Loads components. Each is read when its tool is first prepared, and prepared once for all tools that use it. */
export class ComponentLoader {
  readonly #cache: ComponentCache;
  readonly #validator = new Validator();
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

  async #load({ component }: WasmImplementation): Promise<Component> {
    const binary = await readComponentBytes(component);
    const digest = createHash("sha256").update(binary).digest("hex");
    const known = this.#byDigest.get(digest);
    if (known !== undefined) return known;
    const building = this.#build(binary, digest);
    this.#byDigest.set(digest, building);
    building.catch(() => this.#byDigest.delete(digest));
    return building;
  }

  async #build(binary: Uint8Array, digest: string): Promise<Component> {
    passComponentGate(binary);
    const component = new Component(digest, readComponent(binary));
    const key = cacheKey(digest);
    if ((await this.#cache.read(key)) !== undefined) return component;
    await this.#validator.validate(binary, component.interruptibleCores());
    await this.#cache.write(key, Buffer.from(JSON.stringify({ valid: digest })));
    return component;
  }

  /** Stops the preparation of components. */
  async close(): Promise<void> {
    await this.#validator.close();
  }
}

function cacheKey(digest: string): string {
  const maker = JSON.stringify([CACHE_FORMAT, process.versions.v8, digest]);
  return createHash("sha256").update(maker).digest("hex");
}
