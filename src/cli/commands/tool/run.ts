import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { access, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { guardFiles } from "../../../base/guarded-files.ts";
import { FileLock, isNewerFormat, newerFormatText } from "../../../base/own-files.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { type DispatchEvent, EventStream } from "../../../engine/call/events.ts";
import type { ToolExecution } from "../../../engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../engine/engine.ts";
import { ToolRegistrationError } from "../../../engine/registered-tool.ts";
import { ToolRegistry } from "../../../engine/registry.ts";
import type { Tool } from "../../../engine/tool.ts";
import { locateSyntaxError } from "../../../json/syntax-error.ts";
import type { JsonObject } from "../../../json/value.ts";
import { loadPolicyFile } from "../../../policy/file/load.ts";
import type { Capabilities } from "../../../policy/grant/capabilities.ts";
import { allow, type RuntimePolicy } from "../../../policy/policy.ts";
import { joinShown, type ShownText, shown, toPrintableJson } from "../../../rendering/shown.ts";
import { ToolPreparationError } from "../../../sandboxes/contract/sandbox.ts";
import { openSandboxes, type Sandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { readComponentBytes } from "../../../sandboxes/wasm/component/gate.ts";
import { inspectComponent } from "../../../sandboxes/wasm/tools/inspect-component.ts";
import { type KeyValueStore, type KeyValueStores, MemoryKeyValue } from "../../../tool/key-value-store.ts";
import { guardModule, guardOwnCode } from "../../config/guard-code.ts";
import { UsageError } from "../../errors.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  showProblems,
  type Terminal,
} from "../../terminal.ts";
import type { ToolCommand } from "../../tool-command.ts";
import { componentTool, isComponentFile, toolOfFile } from "./tool-file.ts";

/** What the errors of guests say about a missing capability. */
const NOT_GRANTED = /capabilities\.\w+ is not granted|capability '\w+', which was not granted/;

/** Notes which capabilities a call lacked. */
class Denials {
  #capabilities: Capabilities = {};
  #isLogged = false;

  /** Receives the events of the call. */
  note(event: DispatchEvent): void {
    if (event.type === "tool.started") this.#capabilities = event.grant.capabilities;
    if (event.type === "tool.log") this.#isLogged ||= /^denied: /.test(event.message);
  }

  /** Returns what the command says about the capabilities of a call, besides its log and its error. */
  async hints(
    { file, policy, engine }: Extract<ToolCommand, { name: "tool run" }>,
    { success, error }: ToolExecution,
  ): Promise<readonly ShownText[]> {
    const hints: ShownText[] = [];
    let isDenied = this.#isLogged || NOT_GRANTED.test(error?.message ?? "");
    // Without the capability, a component finds no directories: it fails with an error of its own.
    if (!success && this.#capabilities.fs === undefined && (await isComponentFile(file))) {
      const { imports } = await inspectComponent(await readComponentBytes(file), engine && { engine });
      const files = imports.find(({ needs }) => needs === "fs");
      if (files !== undefined) {
        isDenied = true;
        hints.push(shown`${file} imports ${files.name}: without the capability 'fs', it finds no files.`);
      }
    }
    if (policy === undefined && isDenied) {
      hints.push(shown`Without --policy FILE, tool run grants no capabilities.`);
    }
    return hints;
  }
}

type RunCommand = Extract<ToolCommand, { name: "tool run" }>;

/**
 * Runs a tool once, like a model's call, and prints the result, the logs, the receipt and the error's details as JSON.
 *
 * @throws {ConfigError} if the policy file is invalid.
 * @throws {UsageError} if the file cannot be read, it is not clear which tool of a component is meant, or `--store` cannot be used.
 */
export async function runTool(command: RunCommand, { stdout, stderr, signal }: Terminal): Promise<ExitCode> {
  guardOwnCode();
  guardModule(resolve(command.file));
  const stores = command.store === undefined ? undefined : await FileKeyValue.open(command.store);
  const keyValue = stores ?? new MemoryKeyValue();
  await using sandboxes = await openSandboxes({ workers: { threads: 1 }, keyValue });
  sandboxes.ensureExit();
  const registry = new ToolRegistry();
  try {
    registry.register(await loadTool(command, sandboxes));
  } catch (error) {
    if (!(error instanceof ToolPreparationError || error instanceof ToolRegistrationError)) throw error;
    await print(stderr, shown`${command.file}: ${error.message}`);
    return EXIT_BAD_INPUT;
  }
  const { policy, warnings } = await loadPolicy(command, registry);
  await print(stderr, showProblems(warnings));
  const log: JsonObject[] = [];
  let detail: string | undefined;
  const denials = new Denials();
  const events = new EventStream();
  events.on((event) => {
    denials.note(event);
    if (event.type === "tool.log") log.push({ level: event.level, message: event.message });
    if (event.type === "tool.failed") detail = event.detail;
  });
  const context = { registry, policy, sandboxes, events, sessionId: "tool-run", ...(signal && { signal }) };
  const call = { id: "call", name: registry.names[0] ?? "", arguments: command.input };
  const execution = await new ToolDispatchEngine().dispatch(call, context);
  const isInterrupted = execution === null || signal?.aborted === true;
  if (!isInterrupted) await print(stdout, toPrintableJson(report(execution, log, detail)));
  // The tool has run, whether its values can be stored or not.
  await stores?.save();
  if (isInterrupted) return EXIT_INTERRUPTED;
  await print(stderr, joinShown(await denials.hints(command, execution), "\n"));
  return execution.success ? EXIT_OK : EXIT_TOOL_FAILED;
}

/** Returns the tool of a file. A component is also prepared, so that its problems are reported at once. */
async function loadTool(
  { file, tool, export: exportName, engine }: RunCommand,
  sandboxes: Sandboxes,
): Promise<Tool> {
  if (await isComponentFile(file)) {
    const choice = { tool, export: exportName, engine };
    const chosen = await componentTool(await readComponentBytes(file), choice, sandboxes);
    await sandboxes.prepare(chosen);
    return { ...chosen, sideEffects: "none" };
  }
  if (engine !== undefined) throw new UsageError(shown`--engine requires a component, and FILE is not one`);
  if (tool !== undefined) throw new UsageError(shown`--tool requires a component, and FILE is not one`);
  try {
    await access(file, constants.R_OK);
  } catch (error) {
    throw new UsageError(shown`${file} cannot be read: ${(error as Error).message}`);
  }
  return toolOfFile(file, exportName ?? "default");
}

function report(
  { success, output, error, receipt }: ToolExecution,
  log: readonly JsonObject[],
  detail: string | undefined,
): object {
  return {
    success,
    output,
    ...(error && { error }),
    ...(detail && { detail: detail.split("\n") }),
    log,
    receipt,
  };
}

/** Loads a policy file. Without one, the policy grants the sandbox with its own limits, and the engine that was chosen. */
async function loadPolicy(
  { policy: file, engine }: RunCommand,
  registry: ToolRegistry,
): Promise<{ readonly policy: RuntimePolicy; readonly warnings: readonly ConfigProblem[] }> {
  if (file === undefined) {
    const check: RuntimePolicy["check"] = ({ tool: { sandboxes } }) =>
      allow({ sandbox: sandboxes[0] ?? "quickjs", capabilities: { ...(engine && { engine }) } });
    return { policy: { check }, warnings: [] };
  }
  const { policy } = await loadPolicyFile(file, registry.subjects);
  // The file may have rules for other tools, which are not registered here: only what is true without tools is a warning.
  const { warnings } = await loadPolicyFile(file);
  return { policy, warnings };
}

/**
 * Reads the JSON text that an option gives: the text itself, that of a file (`@file`), or standard input (`-`).
 *
 * @param option The option's name in problems, such as `--input`.
 * @throws {UsageError} if it cannot be read or is not JSON.
 */
export async function readInput(option: string, value: string, { stdin }: Terminal): Promise<string> {
  const text = await readText(option, value, stdin);
  const flaw = locateSyntaxError(text);
  if (flaw === undefined) return text;
  const place = value === "-" ? "standard input" : value.startsWith("@") ? value.slice(1) : undefined;
  const what = place === undefined ? shown`${option}` : shown`${option}: ${place}`;
  throw new UsageError(shown`${what} is not valid JSON: ${flaw.reason} at position ${flaw.position}`);
}

async function readText(option: string, value: string, stdin: Terminal["stdin"]): Promise<string> {
  if (value !== "-" && !value.startsWith("@")) return value;
  try {
    const bytes = value === "-" ? await buffer(stdin) : await readFile(value.slice(1));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const place = value === "-" ? "standard input" : value.slice(1);
    throw new UsageError(shown`${option}: ${place} cannot be read: ${(error as Error).message}`);
  }
}

/** All sessions share the stores of a file. */
const SESSION = "";
const NEVER = new AbortController().signal;

/** The maximum size of the file in bytes. */
const MAX_FILE_BYTES = 256 * 1_024 * 1_024;

/** The format of the files. Files without a format number have the stores at the top level. */
const FORMAT = 1;

/** The values of each store in base64, by their keys. */
type FileContent = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** How long a process waits while another one writes the file, in ms. */
const LOCK_WAIT_MS = 10_000;

/**
 * Key-value stores in memory, which are read from a JSON file and written back to it. Several processes can use the file: each
 * writes only the keys that it changed.
 */
export class FileKeyValue implements KeyValueStores {
  readonly #file: string;
  /** The content when it was last read or written. */
  #known: FileContent;
  readonly #memory = new MemoryKeyValue();
  readonly #opened = new Map<string, KeyValueStore>();

  /**
   * Reads the stores of a file. If it does not exist, there are no stores yet.
   *
   * @throws {UsageError} if the file cannot be read, or does not contain stores.
   */
  static async open(file: string): Promise<FileKeyValue> {
    guardFiles([{ path: file }, { path: `${file}.lock` }]);
    try {
      const content = readContent(file);
      // A link stays a link.
      const stores = new FileKeyValue(content === undefined ? file : realpathSync(file), content ?? {});
      for (const [name, values] of Object.entries(content ?? {})) {
        const changes = Object.entries(values).map(([key, base64]) => ({ key, value: decode(base64) }));
        await stores.open(name).update(changes, NEVER);
      }
      return stores;
    } catch (error) {
      throw new UsageError(shown`--store ${file} cannot be used: ${(error as Error).message}`);
    }
  }

  private constructor(file: string, known: FileContent) {
    this.#file = file;
    this.#known = known;
  }

  open(name: string): KeyValueStore {
    const store = this.#opened.get(name) ?? this.#memory.open(name, SESSION);
    this.#opened.set(name, store);
    return store;
  }

  /**
   * Writes what was changed, and replaces the file as a whole.
   *
   * @throws {UsageError} if the file cannot be written, or another process writes it for too long.
   */
  async save(): Promise<void> {
    const mine = Object.fromEntries(
      await Promise.all(
        Array.from(this.#opened, async ([name, store]) => [name, await contentOf(store)] as const),
      ),
    );
    const temporary = `${this.#file}.${randomUUID()}.tmp`;
    try {
      using _ = new FileLock(`${this.#file}.lock`, LOCK_WAIT_MS);
      // Nothing is awaited, so that this process never waits for a lock of its own.
      const stores = withChanges(readContent(this.#file) ?? {}, this.#known, mine);
      writeFileSync(temporary, `${JSON.stringify({ format: FORMAT, stores }, null, 2)}\n`, {
        flag: "wx",
        mode: 0o600,
      });
      renameSync(temporary, this.#file);
      this.#known = mine;
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new UsageError(shown`--store ${this.#file} cannot be written: ${(error as Error).message}`);
    }
  }
}

/** Returns what a file has, with the keys that changed from one content to another one. */
function withChanges(file: FileContent, from: FileContent, to: FileContent): FileContent {
  const stores = new Map(
    Object.entries(file).map(([name, values]) => [name, new Map(Object.entries(values))]),
  );
  for (const [name, values] of Object.entries(to)) {
    const before = new Map(Object.entries(from[name] ?? {}));
    const now = new Map(Object.entries(values));
    const store = stores.get(name) ?? new Map<string, string>();
    stores.set(name, store);
    for (const [key, value] of now) if (before.get(key) !== value) store.set(key, value);
    for (const key of before.keys()) if (!now.has(key)) store.delete(key);
  }
  return Object.fromEntries(Array.from(stores, ([name, values]) => [name, Object.fromEntries(values)]));
}

async function contentOf(store: KeyValueStore): Promise<Record<string, string>> {
  const entries: [string, string][] = [];
  for (const key of await store.listKeys(undefined, Number.POSITIVE_INFINITY, NEVER)) {
    const value = (await store.get(key, NEVER)) ?? new Uint8Array();
    entries.push([key, Buffer.from(value).toString("base64")]);
  }
  return Object.fromEntries(entries);
}

/** Returns the content of the file; `undefined` if it does not exist. */
function readContent(file: string): FileContent | undefined {
  const text = readStoreText(file);
  if (text === undefined) return undefined;
  const content = storesIn(JSON.parse(text));
  const isStore = (store: unknown): boolean =>
    isRecord(store) && Object.values(store).every((value) => typeof value === "string");
  if (isRecord(content) && Object.values(content).every(isStore)) return content as FileContent;
  throw new TypeError("it must have an object for each store, whose members are strings in base64");
}

/** @throws {TypeError} if the file has a newer format. */
function storesIn(value: unknown): unknown {
  // Without a number it has no format: a store is never a number.
  if (!isRecord(value) || typeof value["format"] !== "number") return value;
  const { format, stores } = value;
  if (isNewerFormat(format, FORMAT)) throw new TypeError(`it ${newerFormatText(format, FORMAT)}`);
  return stores;
}

function readStoreText(file: string): string | undefined {
  let fd: number;
  try {
    // Opening a pipe would wait for its other end.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const status = fstatSync(fd);
    if (!status.isFile()) throw new TypeError("it is not a file");
    if (status.size > MAX_FILE_BYTES) throw new TypeError(`it is larger than ${MAX_FILE_BYTES} bytes`);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** @throws {TypeError} if it is not base64, whose value would be lost when the file is written. */
function decode(base64: string): Uint8Array {
  const value = Buffer.from(base64, "base64");
  if (value.toString("base64") === base64) return value;
  throw new TypeError("a value is not base64");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
