import { type QuickJSContext, type QuickJSHandle, type QuickJSRuntime, Scope } from "quickjs-emscripten";
import type { LogLevel } from "../log-level.ts";
import { DRIVER_SOURCE } from "./driver.ts";
import type { Heap } from "./heap.ts";

/** What a guest is given to run. */
export interface GuestProgram {
  /** The ES module. */
  readonly source: string;
  /** The name of its exported function. */
  readonly exportName: string;
  /** The input as JSON text; `undefined` only loads the module and looks its function up. */
  readonly input: string | undefined;
}

/** What a guest needs of its host while it runs. */
export interface GuestHost {
  /** Asked about every 10,000 steps of the guest; true ends it. */
  isOver(): boolean;
  log(level: LogLevel, message: string): void;
}

/** How a guest ended. */
export type GuestEnd =
  /** With what the driver says: `+` and the output's JSON, or `-` and the failure's. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "timeout" }
  /** It awaits what nothing can bring. */
  | { readonly status: "stalled" };

/** Jobs between two looks at the clock: a promise fan-out would otherwise never come back. */
const JOBS_PER_BATCH = 64;

/** The engine's own stack: beyond it, V8's stack would overflow first in the engine's parser. */
const STACK_BYTES = 256 * 1_024;

/**
 * Runs a program in a fresh runtime.
 *
 * @throws whatever the engine throws when it breaks (out of memory, a trap, an assertion): the heap is then
 *   unfit for another guest.
 */
export function runGuest(heap: Heap, program: GuestProgram, host: GuestHost): GuestEnd {
  let timedOut = false;
  const isOver = (): boolean => {
    timedOut ||= host.isOver();
    return timedOut;
  };
  const scope = new Scope();
  const runtime = scope.manage(heap.engine.newRuntime());
  runtime.setMaxStackSize(STACK_BYTES);
  runtime.setInterruptHandler(isOver);
  const context = scope.manage(runtime.newContext());
  const text = new Guest(scope, runtime, context).run(program, { ...host, isOver });
  // Not every built-in looks at the clock: a result that comes late is none. What was interrupted leaves
  // references behind that the engine asserts on; the heap is dropped instead.
  if (isOver()) return { status: "timeout" };
  scope.dispose();
  return text === undefined ? { status: "stalled" } : { status: "text", text };
}

class Guest {
  readonly #scope: Scope;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;

  constructor(scope: Scope, runtime: QuickJSRuntime, context: QuickJSContext) {
    this.#scope = scope;
    this.#runtime = runtime;
    this.#context = context;
  }

  /** The driver's last word, or `undefined` when the guest did not come to an end. */
  run({ source, exportName, input }: GuestProgram, host: GuestHost): string | undefined {
    const context = this.#context;
    const driver = this.#startDriver(host);
    if (driver === undefined) return undefined;
    const evaluated = context.evalCode(source, "tool.js", { type: "module" });
    if (evaluated.error)
      return this.#text(this.#invoke(driver, "describe", this.#scope.manage(evaluated.error)));
    const module = this.#scope.manage(evaluated.value);
    const name = this.#scope.manage(context.newString(exportName));
    const text = input === undefined ? context.undefined : this.#scope.manage(context.newString(input));
    this.#invoke(driver, "start", module, name, text);
    while (this.#runtime.hasPendingJob() && !host.isOver()) {
      this.#runtime.executePendingJobs(JOBS_PER_BATCH).dispose();
    }
    return this.#text(this.#invoke(driver, "outcome"));
  }

  #startDriver(host: GuestHost): QuickJSHandle | undefined {
    const context = this.#context;
    const send = context.newFunction("send", (level, message) => {
      host.log(context.getString(level) as LogLevel, context.getString(message));
    });
    const make = context.unwrapResult(context.evalCode(DRIVER_SOURCE, "driver.js"));
    return this.#call(this.#scope.manage(make), [this.#scope.manage(send)]);
  }

  #invoke(driver: QuickJSHandle, method: string, ...args: QuickJSHandle[]): QuickJSHandle | undefined {
    return this.#call(this.#scope.manage(this.#context.getProp(driver, method)), args);
  }

  /** `undefined` when the callee threw: the driver's functions do so only when they are interrupted. */
  #call(callee: QuickJSHandle, args: QuickJSHandle[]): QuickJSHandle | undefined {
    const result = this.#context.callFunction(callee, this.#context.undefined, args);
    if (!result.error) return this.#scope.manage(result.value);
    result.error.dispose();
    return undefined;
  }

  #text(handle: QuickJSHandle | undefined): string | undefined {
    if (handle === undefined || this.#context.typeof(handle) !== "string") return undefined;
    return this.#context.getString(handle);
  }
}
