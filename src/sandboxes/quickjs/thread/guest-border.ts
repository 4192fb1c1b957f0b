import { takeGuardedFiles } from "../../../base/guarded-files.ts";
import type { LogLevel } from "../../../tool/streamed.ts";
import { WorkspaceError } from "../../../workspace/error.ts";
import { type Location, locate } from "../../../workspace/locate.ts";
import { Workspace } from "../../../workspace/workspace.ts";
import type { ServiceError } from "../../guest-services/service-request.ts";
import type { ThreadLog } from "../../threads/thread-message.ts";
import type { GuestHost } from "../engine/driver-calls.ts";
import type { FileAllowance, FileUse } from "./external-access.ts";
import { FILE_OPERATIONS, type FileOperation, FileOperationError } from "./file-operations.ts";
import {
  isWithinBounds,
  MAX_PIECE_LENGTH,
  type MessageKind,
  parseMessage,
  RequestValidator,
} from "./guest-message.ts";
import { type GuestProgram, ModuleNames } from "./guest-program.ts";
import type { MissingModule, QuickJsTask, WireReply } from "./thread-task.ts";
import { answerWebApi, type WebScope } from "./web-services.ts";

/**
 * Maximum number of files and directories that a call can create: each takes disk space even if it is empty.
 */
const MAX_CREATED = 10_000;

/** The files of one call, for one step. Its directories are opened at the first request. */
class GuestFiles {
  readonly #allowance: FileAllowance;
  #workspace: Workspace | undefined;
  #created: number;

  constructor(allowance: FileAllowance) {
    this.#allowance = allowance;
    this.#created = allowance.used.created;
  }

  /**
   * Runs an operation for the guest, and returns the reply to the driver. Never throws.
   *
   * @param text `[operation, path, argument]` as JSON. Untrusted.
   * @param bytes What to write, if it is not the argument's text.
   */
  answer(text: string, bytes: Uint8Array): string | Uint8Array {
    if (!isWithinBounds(text, MAX_PIECE_LENGTH)) {
      return failed({ code: "invalid", message: "the path or the text is too long" });
    }
    const [operation, path, argument] = parseMessage(text);
    const known = FILE_OPERATIONS.get(operation);
    if (known === undefined || typeof path !== "string" || typeof argument !== "string") {
      return failed({ code: "invalid", message: "unknown file operation, or invalid arguments" });
    }
    try {
      const result = this.#do(known, path, bytes.length > 0 ? bytes : argument);
      if (!(result instanceof Uint8Array)) return JSON.stringify({ ok: result ?? null });
      // The engine's library cannot create an empty buffer.
      return result.length === 0 ? '{"ok":""}' : result;
    } catch (error) {
      return failed(describe(`${String(operation)} '${path.slice(0, 256)}'`, error));
    }
  }

  #do(operation: FileOperation, path: string, argument: string | Uint8Array): ReturnType<FileOperation> {
    this.#workspace ??= this.#open();
    const { directories } = this.#workspace;
    const find = (named: string): Location =>
      locate(directories, named.startsWith("/") ? named : `/${named}`);
    return operation(find(path), argument, {
      find,
      leftBytes: this.#leftBytes,
      create: (act) => {
        if (this.#created >= MAX_CREATED) throw new WorkspaceError("insufficient-space");
        const made = act();
        this.#created++;
        return made;
      },
    });
  }

  #open(): Workspace {
    const { grants, guarded, used } = this.#allowance;
    takeGuardedFiles(guarded);
    const workspace = new Workspace(grants, this.#leftBytes);
    if (used.touched !== undefined) workspace.restore(used.touched);
    return workspace;
  }

  get #leftBytes(): number {
    return this.#allowance.fileBytes - this.use.writtenBytes;
  }

  /** Closes the directories. Returns what the call did with files, including earlier steps. */
  close(): FileUse {
    const { used } = this.#allowance;
    const { touched = used.touched, changes = used.changes } = this.#workspace ?? {};
    const hasTouched = touched !== undefined && touched.entries.length > 0;
    const use = { ...this.use, ...(hasTouched && { touched }), ...(changes !== undefined && { changes }) };
    this.#workspace?.[Symbol.dispose]();
    return use;
  }

  /** What the call did with files, including earlier steps, but not with which. */
  get use(): FileUse {
    const { used } = this.#allowance;
    return {
      writtenBytes: used.writtenBytes + (this.#workspace?.writtenBytes ?? 0),
      created: this.#created,
      hasChanged: used.hasChanged || this.#workspace?.hasChanged === true,
    };
  }
}

/** The bodies of the responses of one step, which the driver takes as bytes: in a text, they would take twice the memory. */
class ResponseBodies {
  readonly #bodies: string[] = [];

  /** Writes replies in the driver's format: instead of a body, a response has the number under which it can be taken. */
  textOf(replies: readonly WireReply[]): string {
    const written = replies.map((reply) => {
      if (typeof reply === "string") return reply;
      if ("error" in reply || !isResponse(reply.ok)) return JSON.stringify(reply);
      const { body, ...head } = reply.ok;
      return JSON.stringify({ id: reply.id, ok: { ...head, body: this.#bodies.push(body) - 1 } });
    });
    return `[${written.join(",")}]`;
  }

  /** Removes and returns a body; an empty text if there is none. */
  take(name: string): string | Uint8Array {
    const index = Number(name);
    const body = this.#bodies[index];
    if (body === undefined || body === "") return "";
    this.#bodies[index] = "";
    return Buffer.from(body, "base64");
  }
}

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

  /** Logs which capability is missing: a guest may catch the error and not report it. */
  #logDenial(message: string): void {
    // A module that is being loaded has no grant.
    if (!this.#web.isCall || this.#denied.has(message)) return;
    this.#denied.add(message);
    this.#log.write("warn", `denied: ${message}`);
  }

  /** Logs the requests that are not sent because the guest has ended: its code did not wait for them. */
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

  /** Closes open files, and returns what the guest did with files; `undefined` if it was granted no files. */
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

/** Maximum number of kinds of requests that were not sent and are logged. */
const MAX_UNSENT = 10;

const NO_BYTES = new Uint8Array(0);

const NO_FILES = "fs: this call may not use files (capabilities.fs is not granted)";

const NO_PROGRAM = { sources: {} };

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warn", "error"] satisfies LogLevel[]);

/** Whether a reply is a response, whose body is in base64. */
function isResponse(ok: unknown): ok is { readonly body: string } {
  return typeof ok === "object" && ok !== null && "body" in ok && typeof ok.body === "string";
}

function describe(what: string, error: unknown): ServiceError {
  if (error instanceof WorkspaceError || error instanceof FileOperationError) {
    return { code: error.code, message: `${what}: ${error.message}` };
  }
  // Messages of other errors may name directories of this host.
  return { code: "io", message: `${what}: a granted directory cannot be used now` };
}

function failed(error: ServiceError): string {
  return JSON.stringify({ error });
}
