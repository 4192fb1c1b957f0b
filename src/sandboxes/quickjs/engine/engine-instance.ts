import {
  type JSValuePointer,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSFFI,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
  RELEASE_SYNC,
} from "quickjs-emscripten";
import { DRIVER_NAME, DRIVER_SOURCE, EXTERNAL_DRIVER_SOURCE } from "../driver/driver.ts";
import { CappedMemory } from "./capped-memory.ts";
import { DriverCalls } from "./driver-calls.ts";
import { FREE, MALLOC, RANDOM_STATE, STACK_RESTORE, STACK_TOP } from "./engine-binary.ts";
import { confineImports } from "./engine-imports.ts";
import { type GuestHost, NOBODY } from "./guest-host.ts";
import { checkRandomState } from "./random.ts";
import { heapEnd, restoreSnapshot, type Snapshot, takeSnapshot } from "./snapshot.ts";

/** The functions of the driver that the host calls: each takes texts and gives one. */
export type DriverMethod = "load" | "start" | "settle" | "poll";

/**
 * One instance of the engine with one runtime, one context and the driver in it. It runs one guest after the
 * other, each from a {@link Snapshot}. All instances are made in the same way, so that they hold what their host
 * refers to at the same addresses: that is what lets a snapshot of one go on in another.
 */
export class EngineInstance {
  readonly memory: CappedMemory;
  readonly maxBytes: number;
  readonly hasExternalAccess: boolean;
  /** Who runs; set before anything else is asked of the instance. */
  host: GuestHost = NOBODY;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #driver: Readonly<Record<DriverMethod, QuickJSHandle>>;
  readonly #calls: DriverCalls;
  readonly #anchor: string;
  readonly #malloc: (bytes: number) => number;
  readonly #free: (address: number) => void;
  /** What runs here now; what another left behind is zeroed. */
  #owner = "";
  #usedEnd: number;

  /**
   * @param initialBytes The size of the memory: what the snapshots that it is to run from have.
   * @param hasOutside Whether its guests can be granted something of the world outside.
   */
  static async create(
    engine: WebAssembly.Module,
    initialBytes: number,
    maxBytes: number,
    hasExternalAccess = false,
  ): Promise<EngineInstance> {
    const memory = new CappedMemory(initialBytes, maxBytes);
    const clock = { now: (): number => instance?.host.now() ?? Date.now() };
    let instance: EngineInstance | undefined;
    let exports: WebAssembly.Exports = {};
    const variant = newVariant(RELEASE_SYNC, {
      wasmMemory: memory,
      emscriptenModule: {
        ...QUIET,
        instantiateWasm: (imports, onSuccess) => {
          const wasm = new WebAssembly.Instance(engine, confineImports(imports, memory, clock));
          exports = wasm.exports;
          (exports[STACK_RESTORE] as (address: number) => void)(STACK_TOP);
          onSuccess(wasm);
          return exports;
        },
      },
    });
    const library = await newQuickJSWASMModuleFromVariant(variant);
    instance = new EngineInstance(library, exports, memory, maxBytes, hasExternalAccess);
    return instance;
  }

  private constructor(
    library: QuickJSWASMModule,
    exports: WebAssembly.Exports,
    memory: CappedMemory,
    maxBytes: number,
    hasExternalAccess: boolean,
  ) {
    this.memory = memory;
    this.hasExternalAccess = hasExternalAccess;
    this.#malloc = exports[MALLOC] as (bytes: number) => number;
    this.#free = exports[FREE] as (address: number) => void;
    this.maxBytes = maxBytes;
    const runtime = library.newRuntime();
    this.#runtime = runtime;
    runtime.setInterruptHandler(() => this.host.isOver());
    runtime.setModuleLoader(
      (name) => this.host.loadModule(name),
      (importer, specifier) => this.host.resolveModule(importer, specifier),
    );
    const context = runtime.newContext();
    this.#context = context;
    const send = context.newFunction("send", (text) =>
      this.#reply(this.host.receive(context.getString(text))),
    );
    const driverSource = hasExternalAccess ? EXTERNAL_DRIVER_SOURCE : DRIVER_SOURCE;
    const make = context.unwrapResult(context.evalCode(driverSource, DRIVER_NAME));
    const driver = context.unwrapResult(context.callFunction(make, context.undefined, send));
    const method = (name: DriverMethod): QuickJSHandle => context.getProp(driver, name);
    this.#driver = {
      load: method("load"),
      start: method("start"),
      settle: method("settle"),
      poll: method("poll"),
    };
    // The undefined value is looked up when it is first asked for.
    const values = [context.undefined, make, ...Object.values(this.#driver)].map(({ value }) => value);
    this.#calls = new DriverCalls({
      ffi: library.getFFI() as QuickJSFFI,
      context: context["ctx"].value,
      undefined: context.undefined.value as JSValuePointer,
      memory,
      malloc: this.#malloc,
      free: this.#free,
    });
    this.#anchor = [...values, this.#calls.argumentsAt].join(" ");
    checkRandomState(context, memory);
    this.#usedEnd = heapEnd(new Uint8Array(memory.buffer));
  }

  /** Sets how deep the guest may recurse: bytes of the engine's own stack. A snapshot keeps it. */
  limitStack(bytes: number): void {
    this.#runtime.setMaxStackSize(bytes);
  }

  /** Evaluates an ES module; the driver's `load` then takes what it exports. */
  evaluate(name: string, source: string, exportName: string): string | undefined {
    const context = this.#context;
    const evaluated = context.evalCode(source, name, { type: "module" });
    const module = evaluated.error ?? evaluated.value;
    const failed = evaluated.error ? context.true : context.false;
    const args = [module, failed, context.newString(exportName)];
    const result = context.callFunction(this.#driver.load, context.undefined, args);
    // The driver's functions throw only when they are interrupted, or out of memory. Nothing is disposed: the
    // next snapshot takes the place of it all.
    return result.error ? undefined : context.getString(result.value);
  }

  /** Calls a function of the driver; `undefined` when it was interrupted. */
  call(method: DriverMethod, ...texts: readonly string[]): string | undefined {
    return this.#calls.call(this.#driver[method].value as JSValuePointer, texts);
  }

  /** Runs jobs (promise reactions) until there are none, or the host says that it is over. */
  runJobs(): void {
    while (this.#runtime.hasPendingJob() && !this.host.isOver()) {
      this.#runtime.executePendingJobs(JOBS_PER_BATCH).dispose();
    }
  }

  /** Takes a snapshot of the guest, which must be at rest. */
  snapshot(): Snapshot {
    return takeSnapshot(this.memory, this.#anchor, this.hasExternalAccess);
  }

  /**
   * Puts a guest in place, with random numbers of its own.
   *
   * @param owner Whose guest it is. What another owner's left in the memory is zeroed.
   * @param seed 8 bytes for the state of `Math.random`; `undefined` leaves the snapshot's.
   */
  restore(snapshot: Snapshot, owner: string, seed: Uint8Array | undefined): void {
    const { anchor, memoryBytes, hasExternalAccess } = snapshot;
    const isSameKind = anchor === this.#anchor && hasExternalAccess === this.hasExternalAccess;
    if (!isSameKind || memoryBytes !== this.memory.bytes) {
      throw new Error("the snapshot was not taken in such an instance");
    }
    const all = new Uint8Array(this.memory.buffer);
    this.#usedEnd = Math.max(this.#usedEnd, heapEnd(all));
    const isOther = owner !== this.#owner;
    restoreSnapshot(all, snapshot, isOther ? this.#usedEnd : undefined);
    if (isOther) this.#usedEnd = heapEnd(all);
    this.#owner = owner;
    if (seed !== undefined) all.set(seed, RANDOM_STATE);
  }

  /** A text for a guest that is running; none where it has no memory for it. */
  #reply(text: string | undefined): QuickJSHandle {
    if (text === undefined) return this.#context.undefined;
    // The library would write it to address 0, and the guest goes on: what it was given there must have a place.
    const place = this.#malloc(Buffer.byteLength(text) + 1);
    if (place === 0) return this.#context.undefined;
    this.#free(place);
    return this.#context.newString(text);
  }
}

/** Jobs between two looks at the clock: a promise fan-out would otherwise never come back. */
const JOBS_PER_BATCH = 64;

/** What the engine says when it breaks is in the error; nobody asked for it on the console. */
const QUIET: object = { printErr: () => {} };
