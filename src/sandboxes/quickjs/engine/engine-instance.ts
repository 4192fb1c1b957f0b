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
import { DRIVER_NAME, DRIVER_SOURCE } from "../driver/driver.ts";
import { groupSource } from "../driver/globals.ts";
import { CappedMemory, DriverCalls, type GuestHost, NO_HOST } from "./driver-calls.ts";
import { FREE, MALLOC, RANDOM_STATE, STACK_RESTORE, STACK_TOP } from "./engine-binary.ts";
import {
  heapEnd,
  restoreSnapshot,
  resumeGuestIn,
  type Snapshot,
  type SuspendedGuest,
  suspendGuest,
  takeSnapshot,
} from "./suspended-guest.ts";

/** The clock of the engine, which depends on the call that runs. */
interface EngineClock {
  /** Milliseconds since the epoch. */
  now(): number;
}

type ImportedFunction = (...args: never[]) => unknown;

const ERRNO_BADF = 8;

const UTC = Buffer.from("UTC\0");

const MS_PER_DAY = 86_400_000;

/** Loads the library's files, which it would otherwise load for the first instance. */
export async function loadEngineLibrary(): Promise<void> {
  await Promise.all([RELEASE_SYNC.importFFI(), RELEASE_SYNC.importModuleLoader()]);
}

/** The functions of the driver that the host calls. Each takes strings and returns one. */
export type DriverMethod = "load" | "use" | "start" | "settle" | "wake" | "poll" | "where";

/**
 * An instance of the engine with one runtime, one context and the driver. It runs one guest after the other, each
 * from a {@link Snapshot}. All instances are created in the same way, so the objects that their hosts refer to have
 * the same addresses. This makes it possible to restore a snapshot of one instance in another.
 */
export class EngineInstance {
  readonly memory: CappedMemory;
  readonly maxBytes: number;
  /** The host of the guest that runs. Must be set before any method is called. */
  host: GuestHost = NO_HOST;
  /** Whether it must not be used for another guest. */
  isBroken = false;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #driver: Readonly<Record<DriverMethod, QuickJSHandle>>;
  readonly #calls: DriverCalls;
  readonly #anchor: string;
  readonly #malloc: (bytes: number) => number;
  readonly #free: (address: number) => void;
  /** The owner of the current guest. When it changes, the memory that the previous guest used is zeroed. */
  #owner = "";
  #interruptedAt: string | undefined;
  #isLocating = false;
  #usedEnd: number;

  /**
   * @param initialBytes The size of the memory: that of the snapshots to restore.
   */
  static async create(
    engine: WebAssembly.Module,
    initialBytes: number,
    maxBytes: number,
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
    instance = new EngineInstance(library, exports, memory, maxBytes);
    return instance;
  }

  private constructor(
    library: QuickJSWASMModule,
    exports: WebAssembly.Exports,
    memory: CappedMemory,
    maxBytes: number,
  ) {
    this.memory = memory;
    this.#malloc = exports[MALLOC] as (bytes: number) => number;
    this.#free = exports[FREE] as (address: number) => void;
    this.maxBytes = maxBytes;
    const runtime = library.newRuntime();
    this.#runtime = runtime;
    runtime.setInterruptHandler(() => this.#isInterrupted());
    runtime.setModuleLoader(
      (name) => this.host.loadModule(name),
      (importer, specifier) => this.host.resolveModule(importer, specifier),
    );
    const context = runtime.newContext();
    this.#context = context;
    const send = context.newFunction("send", (text, bytes?: QuickJSHandle) =>
      this.#reply(this.host.receive(context.getString(text), bytes && this.#bytesOf(bytes))),
    );
    const group = context.newFunction("group", (name) => this.#evaluateGroup(context.getString(name)));
    const make = context.unwrapResult(context.evalCode(DRIVER_SOURCE, DRIVER_NAME));
    const driver = context.unwrapResult(context.callFunction(make, context.undefined, send, group));
    const method = (name: DriverMethod): QuickJSHandle => context.getProp(driver, name);
    this.#driver = {
      load: method("load"),
      use: method("use"),
      start: method("start"),
      settle: method("settle"),
      wake: method("wake"),
      poll: method("poll"),
      where: method("where"),
    };
    // The library looks `undefined` up on first access, so its address belongs to the anchor too.
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

  /** The stack of the current guest when its time was over, from the driver; `undefined` if it was not interrupted. */
  get interruptedAt(): string | undefined {
    return this.#interruptedAt;
  }

  /** Called by the engine between two steps of the guest, so functions of the driver can be called. */
  #isInterrupted(): boolean {
    if (!this.host.isOver()) return false;
    if (this.#interruptedAt !== undefined || this.#isLocating) return true;
    this.#isLocating = true;
    try {
      this.#interruptedAt = this.call("where") ?? "";
    } catch {
      // There is no memory or stack left for it.
      this.#interruptedAt = "";
      this.isBroken = true;
    } finally {
      this.#isLocating = false;
    }
    return true;
  }

  /** Limits the guest's stack, in bytes of the engine's own stack. Snapshots contain the limit. */
  limitStack(bytes: number): void {
    this.#runtime.setMaxStackSize(bytes);
  }

  /** Evaluates an ES module, and passes its exports to the driver's `load`. */
  evaluate(name: string, source: string, exportName: string): string | undefined {
    const context = this.#context;
    const evaluated = context.evalCode(source, name, { type: "module" });
    const module = evaluated.error ?? evaluated.value;
    const failed = evaluated.error ? context.true : context.false;
    const args = [module, failed, context.newString(exportName)];
    const result = context.callFunction(this.#driver.load, context.undefined, args);
    // The driver's functions throw only when interrupted or out of memory. Nothing is disposed: restoring the next
    // snapshot overwrites it.
    return result.error ? undefined : context.getString(result.value);
  }

  /** Calls a function of the driver. Returns `undefined` if it was interrupted or out of memory. */
  call(method: DriverMethod, ...texts: readonly string[]): string | undefined {
    return this.#calls.call(this.#driver[method].value as JSValuePointer, texts);
  }

  /** Runs jobs (promise reactions) until the queue is empty, or the guest's time is over. */
  runJobs(): void {
    while (this.#runtime.hasPendingJob() && !this.host.isOver()) {
      this.#runtime.executePendingJobs(JOBS_PER_BATCH).dispose();
    }
  }

  /** Takes a snapshot of the guest. No function of the engine may be running. */
  snapshot(): Snapshot {
    return takeSnapshot(this.memory, this.#anchor);
  }

  /**
   * Restores a guest from a snapshot, with a new random state.
   *
   * @param owner The owner of the guest. Memory that another owner's guest used is zeroed.
   * @param randomState The state of `Math.random`; `undefined` keeps the snapshot's.
   */
  restore(snapshot: Snapshot, owner: string, randomState: bigint | undefined): void {
    this.#interruptedAt = undefined;
    const all = this.#memoryFor(snapshot, snapshot.memoryBytes);
    restoreSnapshot(all, snapshot, this.#leftBehind(all, owner));
    this.#assign(all, owner);
    if (randomState !== undefined) writeRandomState(this.memory, randomState);
  }

  /** Suspends the guest until it has replies. No function of the engine may be running. */
  suspend(template: Snapshot): SuspendedGuest {
    return suspendGuest(this.memory, template);
  }

  /** Restores a suspended guest. Memory that another owner's guest used is zeroed. */
  resume(template: Snapshot, guest: SuspendedGuest, owner: string): void {
    this.#interruptedAt = undefined;
    const all = this.#memoryFor(template, guest.memoryBytes);
    resumeGuestIn(all, template, guest, this.#leftBehind(all, owner));
    this.#assign(all, owner);
  }

  #memoryFor({ anchor }: Snapshot, memoryBytes: number): Uint8Array {
    if (anchor !== this.#anchor || memoryBytes !== this.memory.bytes) {
      throw new Error("the snapshot was taken in a different kind of instance");
    }
    return new Uint8Array(this.memory.buffer);
  }

  /** Returns the end of the heap that another owner's guests used; `undefined` if the owner stays the same. */
  #leftBehind(all: Uint8Array, owner: string): number | undefined {
    this.#usedEnd = Math.max(this.#usedEnd, heapEnd(all));
    return owner === this.#owner ? undefined : this.#usedEnd;
  }

  #assign(all: Uint8Array, owner: string): void {
    if (owner === this.#owner) return;
    this.#usedEnd = heapEnd(all);
    this.#owner = owner;
  }

  /** Evaluates a group of web APIs for a running guest. */
  #evaluateGroup(name: string): QuickJSHandle {
    const source = groupSource(name);
    this.#requireMemory(Buffer.byteLength(source) + 1);
    return this.#context.unwrapResult(this.#context.evalCode(source, `${DRIVER_NAME}/${name}`));
  }

  /** Copies the bytes of an `ArrayBuffer`. */
  #bytesOf(buffer: QuickJSHandle): Uint8Array {
    using bytes = this.#context.getArrayBuffer(buffer);
    return bytes.value.slice();
  }

  /** Creates a string or an `ArrayBuffer` for a running guest, or `undefined` if it has no memory for it. */
  #reply(content: string | Uint8Array | undefined): QuickJSHandle {
    if (content === undefined) return this.#context.undefined;
    const isText = typeof content === "string";
    if (!this.#hasMemory(isText ? Buffer.byteLength(content) + 1 : content.length))
      return this.#context.undefined;
    if (isText) return this.#context.newString(content);
    // Always a copy: Node.js may share the underlying buffer with other data.
    return this.#context.newArrayBuffer(new Uint8Array(content).buffer);
  }

  #requireMemory(bytes: number): void {
    if (!this.#hasMemory(bytes)) throw new Error("out of memory");
  }

  /** Whether an allocation succeeds. Without memory, the library would write to address 0. */
  #hasMemory(bytes: number): boolean {
    const place = this.#malloc(bytes);
    if (place === 0) return false;
    this.#free(place);
    return true;
  }
}

/** How many jobs run before the deadline is checked: an endless chain of promises would otherwise never return. */
const JOBS_PER_BATCH = 64;

/** Keeps the engine from printing to the console when it aborts: its error has the same text. */
const QUIET: object = { printErr: () => {} };

/** Sets the state of `Math.random`. */
function writeRandomState(memory: WebAssembly.Memory, state: bigint): void {
  new DataView(memory.buffer).setBigUint64(RANDOM_STATE, state, true);
}

/**
 * Checks the one address that no interface of the engine exposes. If it were wrong, guests restored from a
 * snapshot would share their random numbers.
 *
 * @throws {Error} if the engine stores the state of `Math.random` elsewhere.
 */
function checkRandomState(context: QuickJSContext, memory: WebAssembly.Memory): void {
  const read = (): bigint => new DataView(memory.buffer).getBigUint64(RANDOM_STATE, true);
  const before = read();
  context.unwrapResult(context.evalCode("Math.random()")).dispose();
  if (before === 0n || read() !== nextRandomState(before)) {
    throw new Error("the engine does not keep the state of Math.random at the expected address");
  }
}

/** xorshift64*, the generator of the engine. */
function nextRandomState(state: bigint): bigint {
  let next = state ^ (state >> 12n);
  next = BigInt.asUintN(64, next ^ (next << 25n));
  return next ^ (next >> 27n);
}

/**
 * Replaces those of emscripten's imports that would give access to this process: its exit, timers, console, time zone
 * and locale. The minified names are those of the only build that is loaded.
 */
function confineImports(
  imports: WebAssembly.Imports,
  memory: WebAssembly.Memory,
  clock: EngineClock,
): WebAssembly.Imports {
  const confined: Record<string, ImportedFunction> = {
    // emscripten_date_now
    p: () => clock.now(),
    // _localtime_js and _tzset_js: always UTC, since results must not depend on the host's time zone.
    m: (seconds: bigint, tm: number) => writeUtc(new Int32Array(memory.buffer, tm, 10), Number(seconds)),
    n: (timezone: number, daylight: number, name: number, daylightName: number) => {
      const view = new DataView(memory.buffer);
      view.setInt32(timezone, 0, true);
      view.setInt32(daylight, 0, true);
      for (const at of [name, daylightName]) new Uint8Array(memory.buffer).set(UTC, at);
    },
    // proc_exit
    r: () => {
      throw new WebAssembly.RuntimeError("the engine exited");
    },
    // _setitimer_js, environ_get and environ_sizes_get
    j: () => 0,
    e: () => 0,
    f: (count: number, bytes: number) => {
      const view = new DataView(memory.buffer);
      view.setInt32(count, 0, true);
      view.setInt32(bytes, 0, true);
      return 0;
    },
    // fd_write: output is dropped; the error that the engine throws has the reason for an abort.
    c: () => ERRNO_BADF,
  };
  return { a: { ...imports["a"], ...(confined as WebAssembly.ModuleImports) } };
}

/** Fills a `struct tm`: seconds, minutes, hours, day, month, year, week day, day of the year, DST, offset. */
function writeUtc(tm: Int32Array, seconds: number): void {
  const date = new Date(seconds * 1_000);
  const year = date.getUTCFullYear();
  const dayOfYear = Math.floor((date.getTime() - Date.UTC(year, 0, 1)) / MS_PER_DAY);
  tm.set([date.getUTCSeconds(), date.getUTCMinutes(), date.getUTCHours(), date.getUTCDate()], 0);
  tm.set([date.getUTCMonth(), year - 1_900, date.getUTCDay(), dayOfYear, 0, 0], 4);
}
