import type { LogLevel } from "../../../tool/log-level.ts";
import type { ThreadLog } from "../../threads/thread-log.ts";
import type { GuestHost } from "../engine/guest-host.ts";
import type { GuestProgram } from "../guest-program.ts";
import type { FileUse } from "./external-access.ts";
import { GuestFiles } from "./guest-files.ts";
import { isWithinBounds, type MessageKind, parseMessage } from "./guest-message.ts";
import { ModuleNames } from "./module-names.ts";
import { RequestValidator } from "./request-validator.ts";
import { ResponseBodies } from "./response-bodies.ts";
import type { MissingModule, QuickJsTask, WireReply } from "./thread-task.ts";
import { answerWebApi, type WebScope } from "./web/services.ts";

/**
 * What the guest of one step can reach: the clock, messages to this thread, and modules. Every message is untrusted
 * input. The driver defines its form, but the guest can send anything, so nothing is granted because of that form.
 */
export class GuestBorder implements GuestHost {
  readonly validator: RequestValidator;
  /** The first imported module that is missing in the program. */
  missingModule: MissingModule | undefined;
  readonly #deadline: number;
  readonly #frozenClock: number | undefined;
  readonly #toolNames: string | undefined;
  readonly #log: ThreadLog;
  /** Absent if the grant gives no files. */
  readonly #files: GuestFiles | undefined;
  readonly #program: Pick<GuestProgram, "sources" | "aliases">;
  readonly #web: WebScope;
  readonly #bodies = new ResponseBodies();
  /** The denials that were logged in this step. */
  readonly #denied = new Set<string>();
  #modules: ModuleNames | undefined;
  #isOver = false;

  constructor(task: QuickJsTask, log: ThreadLog) {
    const { wallTimeMs, frozenClock, toolNames, nested, access, step } = task;
    this.#deadline = performance.now() + wallTimeMs;
    this.#frozenClock = frozenClock;
    this.#toolNames = toolNames;
    this.validator = new RequestValidator(nested, access?.net, (message) => this.#logDenial(message));
    this.#files = access?.fs && new GuestFiles(access.fs);
    this.#log = log;
    this.#program = step.kind === "load" ? step.program : NO_PROGRAM;
    this.#web = {
      random: access?.random,
      isCall: step.kind !== "load",
      isOver: () => this.isOver(),
      logDenial: (message) => this.#logDenial(message),
    };
  }

  isOver(): boolean {
    this.#isOver ||= performance.now() > this.#deadline;
    return this.#isOver;
  }

  now(): number {
    return this.#frozenClock ?? Date.now();
  }

  /** Converts replies to the driver's format. The driver asks for the bodies of responses when it receives them. */
  textOf(replies: readonly WireReply[]): string {
    return this.#bodies.textOf(replies);
  }

  receive(text: string, bytes: Uint8Array = NO_BYTES): string | Uint8Array | undefined {
    const kind = text[0] as MessageKind;
    const body = text.slice(1);
    switch (kind) {
      case "l":
        this.#receiveLine(body);
        return undefined;
      case "c":
      case "f":
        this.validator.receive(kind, body, bytes);
        return undefined;
      case "r":
        return String(Math.max(Math.ceil(this.#deadline - performance.now()), 0));
      case "n":
        return this.#toolNames;
      case "b":
        return this.#bodies.take(body);
      // The guest is not interrupted while it is in these functions.
      case "s":
        return this.isOver() ? undefined : this.#answerFiles(body, bytes);
      case "w":
        return this.isOver() ? undefined : answerWebApi(body, bytes, this.#web);
      default:
        kind satisfies never;
        return undefined;
    }
  }

  #answerFiles(text: string, bytes: Uint8Array): string | Uint8Array {
    if (this.#files !== undefined) return this.#files.answer(text, bytes);
    this.#logDenial(NO_FILES);
    return JSON.stringify({ error: { code: "not-permitted", message: NO_FILES } });
  }

  /** Logs which capability is missing: a guest may catch the error, and say nothing of it. */
  #logDenial(message: string): void {
    // A module that is being loaded has no grant.
    if (!this.#web.isCall || this.#denied.has(message)) return;
    this.#denied.add(message);
    this.#log.write("warn", `denied: ${message}`);
  }

  /** Logs the requests that are not sent because the guest has ended: its code went on as if they had been made. */
  logUnsent(): void {
    const unsent = this.validator.requests.map((request) =>
      request.kind === "call-tool" ? `the call of the tool '${request.name}'` : "a request with fetch",
    );
    const { beyondLimit } = this.validator;
    const why =
      beyondLimit === undefined
        ? "since the code ended without awaiting it"
        : `since the code ended as ${beyondLimit}`;
    for (const what of [...new Set(unsent)].slice(0, MAX_UNSENT))
      this.#log.write("warn", `not made: ${what}, ${why}`);
  }

  #receiveLine(text: string): void {
    // A line that exceeds the budget is replaced by a note, whatever it says.
    if (!isWithinBounds(text, this.#log.left.bytes)) {
      this.#log.write("info", text);
      return;
    }
    const [level, line] = parseMessage(text);
    if (typeof line === "string") this.#log.write(LEVELS.has(level) ? (level as LogLevel) : "info", line);
  }

  /** Closes open files, and returns what the guest did with files; `undefined` if it was granted none. */
  closeFiles(): FileUse | undefined {
    return this.#files?.close();
  }

  resolveModule(importer: string, specifier: string): string {
    this.#modules ??= new ModuleNames(this.#program);
    return this.#modules.resolve(importer, specifier);
  }

  loadModule(name: string): string {
    const source = this.#modules?.source(name);
    if (source !== undefined) return source;
    const problem = this.#modules?.problem(name);
    if (problem !== undefined) throw new Error(problem);
    this.missingModule ??= { name, importer: this.#modules?.importer(name) ?? name };
    throw new Error(`'${name}' was not loaded with the tool: use a static import`);
  }
}

/** The most kinds of requests that were not sent and are logged. */
const MAX_UNSENT = 10;

const NO_BYTES = new Uint8Array(0);

const NO_FILES = "fs: this call may not use files (capabilities.fs is not granted)";

const NO_PROGRAM = { sources: {} };

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warn", "error"] satisfies LogLevel[]);
