import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { ToolPreparationError } from "../sandbox.ts";
import { Component } from "./component.ts";
import type { ComponentCache } from "./component-cache.ts";
import { MAX_COMPONENT_BYTES, passComponentGate } from "./component-gate.ts";
import type { WasmImplementation } from "./implementation.ts";
import { LruMap } from "./lru-map.ts";
import { TRANSPILE_OPTIONS } from "./transpile-options.ts";
import { decodeTranspiled } from "./transpiled.ts";
import { jcoVersion, Transpiler } from "./transpiler.ts";

/** Changes whenever a cache entry would mean something else. */
const CACHE_FORMAT = 1;

/** How many components are shared between tools that name the same bytes. */
const MAX_SHARED = 64;

/** Loads components: each is read when its tool is first prepared, and made ready once, whoever asks. */
export class ComponentLoader {
  readonly #cache: ComponentCache;
  readonly #transpiler = new Transpiler();
  readonly #loaded = new WeakMap<WasmImplementation, Promise<Component>>();
  readonly #byDigest = new LruMap<string, Promise<Component>>(MAX_SHARED);

  constructor(cache: ComponentCache) {
    this.#cache = cache;
  }

  /**
   * The component of a tool. A failure is not remembered: the next call tries again.
   *
   * @throws {ToolPreparationError} with the reason why it cannot run here.
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
    const binary = await readComponent(component);
    const digest = createHash("sha256").update(binary).digest("hex");
    const known = this.#byDigest.get(digest);
    if (known !== undefined) return known;
    const building = this.#build(binary, digest);
    this.#byDigest.set(digest, building);
    building.catch(() => this.#byDigest.delete(digest));
    return building;
  }

  async #build(binary: Uint8Array, digest: string): Promise<Component> {
    const imports = passComponentGate(binary);
    const key = cacheKey(digest);
    const kept = await this.#cache.read(key);
    if (kept !== undefined) return new Component(digest, imports, decodeTranspiled(kept));
    const transpiled = await this.#transpiler.transpile(binary);
    const component = new Component(digest, imports, decodeTranspiled(transpiled));
    await this.#cache.write(key, transpiled);
    return component;
  }

  /** Ends what is being made ready. */
  close(): void {
    this.#transpiler.close();
  }
}

function cacheKey(digest: string): string {
  const maker = JSON.stringify([CACHE_FORMAT, jcoVersion(), TRANSPILE_OPTIONS, digest]);
  return createHash("sha256").update(maker).digest("hex");
}

/** A component's bytes: a copy, so that nobody changes them after they were checked. */
async function readComponent(component: WasmImplementation["component"]): Promise<Uint8Array> {
  if (component instanceof Uint8Array) {
    refuseTooLarge(component.length);
    return Uint8Array.from(component);
  }
  try {
    const isUrl = typeof component === "string" && component.startsWith("file:");
    await using file = await open(isUrl ? new URL(component) : component);
    const status = await file.stat();
    if (!status.isFile()) throw new ToolPreparationError(`${String(component)} is no file`);
    refuseTooLarge(status.size);
    const bytes = await file.readFile();
    refuseTooLarge(bytes.length);
    return bytes;
  } catch (error) {
    if (error instanceof ToolPreparationError) throw error;
    throw new ToolPreparationError(`the component cannot be read: ${String(error)}`);
  }
}

function refuseTooLarge(bytes: number): void {
  if (bytes > MAX_COMPONENT_BYTES) {
    throw new ToolPreparationError(`the component is larger than ${MAX_COMPONENT_BYTES} bytes`);
  }
}
