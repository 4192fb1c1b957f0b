import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { sha256InSlices } from "../../../base/collected-bytes.ts";
import { LruMap } from "../../../base/lru-map.ts";
import { entryFile } from "../../../base/package-files.ts";
import type { WasmImplementation } from "../../../tool/implementations/implementations.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { PoolOutcome } from "../../threads/pool-task.ts";
import { WorkerPool } from "../../threads/worker-pool.ts";
import type { JcoProgram } from "../artifact.ts";
import { limitCoreModule } from "../core-module/core-limits.ts";
import { readCoreModule } from "../core-module/core-module.ts";
import type { InterruptibleModule } from "../interruptible/interruptible.ts";
import { type LinkedModules, type ReadComponent, readComponent } from "../linking/component-reader.ts";
import type { CoreInstantiation } from "../linking/link-plan.ts";
import { CompileCheck } from "../validation/compile-check.ts";
import { startLimitedChild } from "../validation/limited-child.ts";
import type { ValidationAnswer, ValidationTask } from "../validation/worker-entry.ts";
import { vendoredFile } from "../vendored-file.ts";
import type { ComponentCache } from "./cache.ts";
import { type Compile, Component, compileCore } from "./component.ts";
import { passComponentGate, readComponentBytes } from "./gate.ts";
import { GENERATE_OPTIONS, readGenerated } from "./jco/generated-files.ts";
import { functionsWithMadeResources } from "./jco/made-resources.ts";

/** A component as jco's code runs it. */
interface JcoComponent {
  /** Its core instances and core modules: those of the component, and those that jco adds. */
  readonly linked: LinkedModules;
  readonly program: JcoProgram;
}

/** How generated code loads a core module, and how it instantiates one. */
const LOADED = /\b(module\d+) = getCoreModule\('([^']+)'\)/g;

const INSTANTIATED = /\binstantiateCore\((module\d+)\b/g;

/**
 * Makes jco generate the code of components. Each runs in its own process, which can read its own code and the generator,
 * and nothing else.
 */
class Generator {
  readonly #closing = new AbortController();
  /** One process at a time: components with jco's engine are few. */
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Generates the code of a component that passed the gates.
   *
   * @returns the files, as `writeGenerated` writes them.
   * @throws {ToolPreparationError} with jco's message, or the limit that was exceeded.
   */
  generate(binary: Uint8Array): Promise<Buffer> {
    const generating = this.#last.then(() => this.#run(binary));
    this.#last = generating.catch(() => {});
    return generating;
  }

  async #run(binary: Uint8Array): Promise<Buffer> {
    const { signal } = this.#closing;
    if (signal.aborted) throw new ToolPreparationError("the sandbox is closed");
    const bindgen = vendoredFile("js-component-bindgen-component.js");
    const args = [pathToFileURL(bindgen).href];
    const entry = entryFile("sandboxes/wasm/component/jco/generate-child");
    const child = startLimitedChild(entry, { signal, args, readable: [enclosingModules(bindgen)] });
    child.stdin.end(binary);
    const { promise: ended, resolve, reject } = Promise.withResolvers<number | NodeJS.Signals | null>();
    child.on("close", (code, killedBy) => resolve(killedBy ?? code));
    child.on("error", (error) => reject(new ToolPreparationError(`jco cannot be started: ${error.message}`)));
    const [files, errors, end] = await Promise.all([buffer(child.stdout), text(child.stderr), ended]);
    if (end === 0) return files;
    const reason = typeof end === "string" ? "it took too much time or memory" : errors.slice(0, 2_048);
    throw new ToolPreparationError(`jco generates no code for it: ${reason}`);
  }

  /** Ends the process. */
  close(): void {
    this.#closing.abort();
  }
}

/** Decides whether a component can run: wasm-tools validates it, and V8 compiles what may take it long. */
export class Validator {
  readonly #component = new ComponentValidator();
  readonly #compile = new CompileCheck();

  /**
   * Checks that a component is valid, and that no function takes V8 long to compile.
   *
   * @param cores Its core modules, once they are rewritten. The component is validated meanwhile.
   * @throws {ToolPreparationError} with the reason.
   */
  async validate(binary: Uint8Array, cores: Promise<readonly InterruptibleModule[]>): Promise<void> {
    const [rewritten] = await Promise.all([cores, this.#component.validate(binary)]);
    if (!rewritten.some(({ isSlow }) => isSlow)) return;
    await this.#compile.check(rewritten.map((core) => core.binary));
  }

  /** Compiles a large core module in a thread. */
  compile(binary: Uint8Array): Promise<WebAssembly.Module> {
    return this.#component.compile(binary);
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    this.#compile.close();
    await this.#component.close();
  }
}

/** Changes with the meaning of cache entries, and with the versions of wasm-tools and of the generator. */
const CACHE_FORMAT = 8;

/** Core modules of more bytes than this are compiled in a thread: V8 copies them, which takes the main thread long. */
const COPIED_BYTES = 8 * 1_024 * 1_024;

/** The maximum number of components that are retained for tools with the same bytes. */
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

/** Returns the outermost `node_modules` that contains a module, within which its imports are resolved. */
function enclosingModules(path: string): string {
  const marker = `${sep}node_modules${sep}`;
  const at = path.indexOf(marker);
  return at === -1 ? dirname(path) : path.slice(0, at + marker.length - 1);
}

/**
 * Reads what jco generated for a component.
 *
 * @param files The generated files by name.
 * @throws {ToolPreparationError} if the code does not have the form that this version of jco generates.
 */
export function readJcoComponent(
  { plan, imports }: ReadComponent,
  files: ReadonlyMap<string, Uint8Array>,
): JcoComponent {
  const bytes = files.get("component.js");
  if (bytes === undefined) throw new ToolPreparationError("jco generated no code");
  const source = Buffer.from(bytes).toString("utf8");
  const modules = new Map<string, number>();
  const variables = new Map<string, number>();
  const coreModules: Uint8Array[] = [];
  for (const [, variable = "", file = ""] of source.matchAll(LOADED)) {
    const binary = files.get(file);
    if (binary === undefined) throw new ToolPreparationError("jco generated no file for a core module");
    const index = coreModules.push(binary) - 1;
    variables.set(variable, index);
    modules.set(file, index);
  }
  const coreInstances = Array.from(source.matchAll(INSTANTIATED), ([, variable = ""]): CoreInstantiation => {
    const module = variables.get(variable);
    if (module === undefined) throw new ToolPreparationError("jco generated code of an unknown form");
    return { module, imports: new Map() };
  });
  return {
    linked: {
      plan: {
        coreInstances,
        parents: [],
        destructors: new Map(),
        exports: functionsWithMadeResources(plan.exports),
      },
      coreModules,
    },
    program: {
      source,
      modules,
      imports,
      exports: new Map(Array.from(plan.exports, ([name, { type }]) => [name, type])),
    },
  };
}

/** The maximum time to validate a component. The largest take less than a second on an idle machine. */
const TIMEOUT_MS = 10_000;

/** The maximum memory of wasm-tools, in pages of 64 KiB: 1 GiB. */
const MAX_PAGES = 16_384;

/** What validating takes outside of the memory of wasm-tools. */
const THREAD_LIMITS = Object.freeze({ maxOldGenerationSizeMb: 64 });

const NO_OBSERVER = Object.freeze({ output: () => {}, log: () => {} });

/**
 * Validates components with wasm-tools, which is itself WebAssembly and has no access to anything, in a thread that is
 * ended when it takes too long. wasm-tools is compiled once, and instantiated for each component.
 */
class ComponentValidator {
  #wasmTools: Promise<WebAssembly.Module> | undefined;
  #pool: WorkerPool | undefined;
  readonly #closing = new AbortController();

  /** @throws {ToolPreparationError} with the reason if a component is not valid. */
  async validate(binary: Uint8Array): Promise<void> {
    const problem = problemOf(await this.#run({ kind: "validate", binary }));
    if (problem !== undefined) throw new ToolPreparationError(problem);
  }

  /**
   * Compiles a core module in the thread, because V8 first copies it in the thread that asks.
   *
   * @throws {ToolPreparationError} with the reason if it does not compile.
   */
  async compile(binary: Uint8Array): Promise<WebAssembly.Module> {
    const outcome = await this.#run({ kind: "compile", binary });
    if (outcome.status === "returned" && outcome.result instanceof WebAssembly.Module) return outcome.result;
    throw new ToolPreparationError(problemOf(outcome) ?? "it does not compile");
  }

  async #run(task: ValidationTask): Promise<PoolOutcome<ValidationAnswer>> {
    if (this.#closing.signal.aborted) throw closed();
    this.#pool ??= new WorkerPool(
      { entry: entryFile("sandboxes/wasm/validation/worker-entry"), limits: THREAD_LIMITS },
      { threads: 1 },
    );
    this.#wasmTools ??= compileWasmTools();
    const artifact = { name: "wasm-tools", value: await this.#wasmTools };
    const outcome = await this.#pool.run<ValidationAnswer>(task, {
      wallTimeMs: TIMEOUT_MS,
      signal: this.#closing.signal,
      observer: NO_OBSERVER,
      artifact,
    });
    if (this.#closing.signal.aborted) throw closed();
    return outcome;
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pool?.close();
  }
}

function problemOf(outcome: PoolOutcome<ValidationAnswer>): string | undefined {
  switch (outcome.status) {
    case "returned":
      return typeof outcome.result === "string" ? `it is not valid: ${outcome.result}` : undefined;
    case "timeout":
      return `validating it took longer than ${TIMEOUT_MS} ms`;
    case "crashed":
      return `the validator crashed: ${outcome.error.message}`;
    case "unavailable":
      return `the validator cannot be started: ${outcome.reason}`;
    case "cancelled":
      return "its validation was cancelled";
  }
}

function closed(): ToolPreparationError {
  return new ToolPreparationError("the sandbox is closed");
}

async function compileWasmTools(): Promise<WebAssembly.Module> {
  const binary = await readFile(vendoredFile("wasm-tools.core.wasm"));
  const { tables } = readCoreModule(binary);
  const limits = {
    memories: [{ maxPages: MAX_PAGES, lowered: true }],
    tables: tables.map(({ limits: { min } }) => ({ minElements: min, maxElements: min })),
    globals: [],
  };
  return WebAssembly.compile((await limitCoreModule(binary, limits)) as BufferSource);
}
