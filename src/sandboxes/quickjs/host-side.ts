import type { LogLevel } from "../log-level.ts";
import type { ThreadLog } from "../thread-log.ts";
import type { GuestProgram } from "./guest.ts";
import type { GuestHost } from "./guest-host.ts";
import { ModuleNames } from "./module-names.ts";
import type { GuestRequest, MissingModule, NestedAllowance, QuickJsTask } from "./thread-task.ts";

/** Bytes of a nested call's arguments. */
const MAX_REQUEST_BYTES = 1_024 * 1_024;

/**
 * The host's side of the border, for one step: the clock, the one import, and the modules. Everything that
 * comes from the guest is hostile; the driver's form is what is expected of it, and nothing is granted by it.
 */
export class HostSide implements GuestHost {
  readonly requests: GuestRequest[] = [];
  /** The first module that was imported and is not there. */
  missingModule: MissingModule | undefined;
  readonly #deadline: number;
  readonly #frozenClock: number | undefined;
  readonly #log: ThreadLog;
  readonly #nested: NestedAllowance;
  readonly #sources: GuestProgram["sources"];
  #modules: ModuleNames | undefined;
  #isOver = false;
  #refusals: object[] | undefined;

  constructor({ wallTimeMs, frozenClock, nested, step }: QuickJsTask, log: ThreadLog) {
    this.#deadline = performance.now() + wallTimeMs;
    this.#frozenClock = frozenClock;
    this.#nested = nested;
    this.#log = log;
    this.#sources = step.kind === "load" ? step.program.sources : {};
  }

  isOver(): boolean {
    this.#isOver ||= performance.now() > this.#deadline;
    return this.#isOver;
  }

  now(): number {
    return this.#frozenClock ?? Date.now();
  }

  receive(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text.slice(1));
    } catch {
      return;
    }
    if (!Array.isArray(message)) return;
    if (text.startsWith("l")) this.#receiveLine(message);
    else if (text.startsWith("c")) this.#receiveRequest(message);
  }

  #receiveLine([level, line]: unknown[]): void {
    if (typeof line === "string") this.#log.write(LEVELS.has(level) ? (level as LogLevel) : "info", line);
  }

  #receiveRequest([id, name, input]: unknown[]): void {
    if (typeof id !== "number" || typeof name !== "string" || typeof input !== "string") return;
    const { left, granted } = this.#nested;
    if (granted === 0) this.#refuse(id, "permission_denied", "this call may not call other tools");
    else if (this.requests.length >= left) {
      this.#refuse(id, "limit_exceeded", `this call may not make more than ${granted} nested calls`);
    } else if (Buffer.byteLength(input) > MAX_REQUEST_BYTES) {
      this.#refuse(id, "validation_error", "the arguments of a nested call may not exceed 1 MiB");
    } else this.requests.push({ id, name, input });
  }

  #refuse(id: number, code: string, message: string): void {
    this.#refusals ??= [];
    this.#refusals.push({ id, error: { code, message } });
  }

  /** The replies to the requests that were refused, as JSON text; `undefined` when there are none. */
  takeRefusals(): string | undefined {
    if (this.#refusals === undefined) return undefined;
    const refusals = this.#refusals;
    this.#refusals = undefined;
    return JSON.stringify(refusals);
  }

  resolveModule(importer: string, specifier: string): string {
    this.#modules ??= new ModuleNames(this.#sources);
    return this.#modules.resolve(importer, specifier);
  }

  loadModule(name: string): string {
    const source = this.#modules?.source(name);
    if (source !== undefined) return source;
    const problem = this.#modules?.problem(name);
    if (problem !== undefined) throw new Error(problem);
    this.missingModule ??= { name, importer: this.#modules?.importer(name) ?? name };
    throw new Error(`'${name}' was not loaded with the tool: import it where a module begins`);
  }
}

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warn", "error"] satisfies LogLevel[]);
