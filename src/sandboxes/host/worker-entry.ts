import { pathToFileURL } from "node:url";
import { takeGuardedFiles } from "../../base/guarded-files.ts";
import { describeThrown } from "../../base/thrown.ts";
import { freezeJson, type JsonValue } from "../../json/value.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { Changes } from "../../tool/changes.ts";
import type { HostModuleContext, HostModuleFunction } from "../../tool/implementations/implementations.ts";
import type { Principal } from "../../tool/principal.ts";
import type { LogLevel } from "../../tool/streamed.ts";
import { readThrown, type ThrownFailure } from "../contract/failure.ts";
import { encodeOutput } from "../contract/output.ts";
import type { ReportingThread } from "../threads/thread-message.ts";
import type { HostFiles } from "./files/host-files.ts";

/** A call, as it is sent to the thread. */
export interface WorkerTask {
  readonly module: string;
  readonly export: string;
  /** The input as JSON text. */
  readonly input: string;
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly resultChars: number | undefined;
  readonly workspace: string | undefined;
  readonly toolName: string;
  readonly principal: Principal | undefined;
  readonly maxOutputBytes: number | undefined;
  readonly fs: readonly FsGrant[] | undefined;
  /** What the process guards; absent without `fs`. */
  readonly guarded: string | undefined;
  readonly fileBytes: number | undefined;
  readonly logFileAccess: boolean;
}

/** The thread's answer: the output as JSON text, or a failure. */
export type WorkerAnswer = WorkerResult & {
  /** Bytes that were written to files; absent if the call was granted no files. */
  readonly fileBytes?: number;
  /** The changes of files; absent if the call must not change files. */
  readonly changes?: Changes | undefined;
};

type WorkerResult =
  | { readonly status: "returned"; readonly text: string; readonly streamedBytes: number }
  | { readonly status: "limit_exceeded"; readonly outputBytes: number }
  | { readonly status: "threw"; readonly thrown: ThrownFailure }
  | { readonly status: "not-json"; readonly message: string }
  | { readonly status: "not-loaded"; readonly detail: string };

/** Runs one call of a module. */
export default async function runWorkerTask(
  task: WorkerTask,
  thread: ReportingThread,
): Promise<WorkerAnswer> {
  let run: HostModuleFunction;
  let files: HostFiles | undefined;
  try {
    run = await loadOnce(task.module, task.export);
    takeGuardedFiles(task.guarded);
    files = task.fs && (await openFiles(task.fs, task.fileBytes));
  } catch (thrown) {
    return { status: "not-loaded", detail: describeThrown(thrown).detail };
  }
  thread.markStarted();
  const context = new ThreadContext(task, files, thread);
  const result = task.logFileAccess
    ? await runLogged(run, task, context)
    : await runLoaded(run, task, context);
  if (files === undefined) return result;
  const { writtenBytes: fileBytes, changes } = files;
  files.end();
  return { ...result, fileBytes, changes };
}

/** The code is loaded by the first call that is granted files. */
async function openFiles(fs: readonly FsGrant[], fileBytes: number | undefined): Promise<HostFiles> {
  const { HostFiles } = await import("./files/host-files.ts");
  return new HostFiles(fs, fileBytes);
}

async function runLogged(
  run: HostModuleFunction,
  task: WorkerTask,
  context: ThreadContext,
): Promise<WorkerResult> {
  const { FileAccessLog } = await import("./files/file-access-log.ts");
  const accesses = new FileAccessLog(task.toolName, context.logger.warn);
  try {
    return await accesses.run(() => runLoaded(run, task, context));
  } finally {
    accesses.end();
  }
}

async function runLoaded(
  run: HostModuleFunction,
  task: WorkerTask,
  context: ThreadContext,
): Promise<WorkerResult> {
  try {
    const encoded = encodeOutput(await run(freezeJson(JSON.parse(task.input) as JsonValue), context));
    if (typeof encoded !== "string") return { status: "not-json", message: encoded.message };
    const outputBytes = Buffer.byteLength(encoded) + context.streamedBytes;
    if (outputBytes > (task.maxOutputBytes ?? Number.POSITIVE_INFINITY)) {
      return { status: "limit_exceeded", outputBytes };
    }
    return { status: "returned", text: encoded, streamedBytes: context.streamedBytes };
  } catch (thrown) {
    return { status: "threw", thrown: readThrown(thrown) };
  }
}

const loaded = new Map<string, HostModuleFunction>();

/**
 * Caches functions, since importing a module again costs as much as a small call. Failures are not cached.
 */
async function loadOnce(module: string, name: string): Promise<HostModuleFunction> {
  const key = `${name}\0${module}`;
  let run = loaded.get(key);
  if (run === undefined) {
    run = (await loadFunction(module, name)) as HostModuleFunction;
    loaded.set(key, run);
  }
  return run;
}

/** The context of a call in a thread, which sends output and log lines to the pool as messages. */
class ThreadContext implements HostModuleContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly resultChars: number | undefined;
  readonly workspace: string | undefined;
  readonly toolName: string;
  readonly principal: Principal | undefined;
  readonly files: HostFiles | undefined;
  readonly logger: HostModuleContext["logger"];
  /** A bound function, since tools can destructure their context. */
  readonly onOutput: HostModuleContext["onOutput"];
  streamedBytes = 0;

  constructor(task: WorkerTask, files: HostFiles | undefined, thread: ReportingThread) {
    this.files = files;
    const { principal, maxOutputBytes } = task;
    this.callId = task.callId;
    this.sessionId = task.sessionId;
    this.turnId = task.turnId;
    this.idempotencyKey = task.idempotencyKey;
    this.resultChars = task.resultChars;
    this.workspace = task.workspace;
    this.toolName = task.toolName;
    // A copy arrived in this thread, which is not frozen.
    this.principal = principal === undefined ? undefined : (freezeJson(principal as never) as Principal);
    const at =
      (level: LogLevel): ((message: string) => void) =>
      (message) =>
        thread.report({ type: "log", level, message: String(message) });
    this.logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
    this.onOutput = (chunk) => {
      const text = String(chunk);
      this.streamedBytes += Buffer.byteLength(text);
      if (this.streamedBytes > (maxOutputBytes ?? Number.POSITIVE_INFINITY)) return;
      thread.report({ type: "output", chunk: text });
    };
  }
}

/**
 * Imports a module of the embedder, and returns a function that it exports.
 *
 * @param module An absolute path, or a `file:` URL.
 * @throws {Error} if the import fails, or the module does not export such a function.
 */
async function loadFunction(module: string, name: string): Promise<(...args: never[]) => unknown> {
  const url = module.startsWith("file:") ? module : pathToFileURL(module).href;
  const exports: Record<string, unknown> = await import(url);
  const loaded = exports[name];
  if (typeof loaded === "function") return loaded as (...args: never[]) => unknown;
  throw new Error(`the module has no exported function '${name}'`);
}
