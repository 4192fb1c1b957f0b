import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { TrackedFields } from "../call-history.ts";
import type {
  PolicyDecision,
  PolicyExplanation,
  PolicyPlace,
  PolicyRequest,
  RuntimePolicy,
} from "../policy.ts";
import type { PolicyTool } from "./checked-rule.ts";
import { loadPolicyFile } from "./load.ts";
import type { LoadedPolicy } from "./read.ts";

/** How long a file must not change before it counts as whole, and how long events are collected. */
const QUIET_MS = 100;

/** How often the file is looked at without an event. Some file systems send none, and links lead elsewhere. */
const POLL_MS = 2_000;

/** Identifies the contents of a file, without reading them; the same for every file that cannot be read. */
type FileStamp = string;

/**
 * Calls a function each time when the contents of a file have changed and then been left alone for a while.
 * It watches the file's directory, because editors replace files with others of the same name. It does not
 * keep the process running.
 */
export class FileWatch implements Disposable {
  readonly #path: string;
  readonly #onChange: () => void;
  readonly #poll: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;
  #next: NodeJS.Timeout | undefined;
  /** The stamp for which the function was called last. */
  #known: FileStamp;
  /** The stamp when the file was looked at last. */
  #seen: FileStamp;
  /** Whether something may have happened since the file was looked at. */
  #isDue = false;
  #isClosed = false;

  /** @param known The stamp of the contents that the caller has read, taken before it read them. */
  constructor(path: string, known: FileStamp, onChange: () => void) {
    this.#path = path;
    this.#known = known;
    this.#seen = known;
    this.#onChange = onChange;
    this.#watcher = this.#watchDirectory();
    this.#poll = setInterval(() => this.#lookSoon(), POLL_MS).unref();
  }

  /** Without events, such as if the system has no more watches, the file is still looked at from time to time. */
  #watchDirectory(): FSWatcher | undefined {
    try {
      const watcher = watch(dirname(this.#path), { persistent: false }, () => this.#lookSoon());
      return watcher.on("error", () => watcher.close());
    } catch {
      return undefined;
    }
  }

  /** Events of other files in the directory must not postpone it. */
  #lookSoon(): void {
    this.#isDue = true;
    if (this.#isClosed || this.#next !== undefined) return;
    this.#next = setTimeout(() => void this.#look(), QUIET_MS).unref();
  }

  async #look(): Promise<void> {
    this.#isDue = false;
    const stamp = await stampOf(this.#path);
    this.#next = undefined;
    if (stamp !== this.#seen) {
      this.#seen = stamp;
      this.#isDue = true;
    } else if (stamp !== this.#known && !this.#isClosed) {
      this.#known = stamp;
      this.#onChange();
    }
    if (this.#isDue) this.#lookSoon();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#watcher?.close();
    clearInterval(this.#poll);
    clearTimeout(this.#next);
  }
}

const NAMES: OptionNames<PolicyFileOptions> = { tools: true, watch: true, onReload: true, onError: true };

/** The options of {@link openPolicyFile}. */
export interface PolicyFileOptions {
  /**
   * The tools that the policy is checked against whenever it is loaded, such as a `ToolRegistry`. Default: none, so that
   * neither names nor invariants are checked.
   */
  readonly tools?: { readonly subjects: readonly PolicyTool[] };
  /**
   * Whether to load the file again when it changes. Replace it by renaming another one: a file that is written in place
   * is loaded when it has not changed for 100 ms, which may be before it is whole. Default: `false`.
   */
  readonly watch?: boolean;
  /**
   * Is called with each new policy before it decides on calls, for example to store it in a journal. If it throws or
   * rejects, the policy is not used. Default: nothing.
   */
  readonly onReload?: (loaded: LoadedPolicy) => unknown;
  /**
   * Is called when the file cannot be used: with a `ConfigError`, or what `onReload` threw. The last policy stays in use.
   * Default: a warning of the process.
   */
  readonly onError?: (error: unknown) => void;
}

/** A policy that its file can replace. Each decision is made by one version of it. */
export interface PolicyFile extends RuntimePolicy, AsyncDisposable {
  check(request: PolicyRequest): PolicyDecision;
  explain(request: PolicyRequest): PolicyExplanation;
  readonly revision: string;
  readonly sources: readonly string[];
  /** What was loaded last. */
  readonly loaded: LoadedPolicy;
  /**
   * Loads the file again, for example on SIGHUP. If it cannot be used, nothing changes, and `onError` is called. Never
   * rejects.
   *
   * @returns Whether the file as it is now is in use.
   */
  reload(): Promise<boolean>;
  /** Stops watching the file. The policy still decides. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a policy file, as `loadPolicyFile` does, as a policy that can be reloaded. A new version is checked
 * as a whole before it decides, including its invariants. Calls that were decided before keep their grants.
 *
 * @throws {ConfigError} with every problem, if the file cannot be used now.
 */
export async function openPolicyFile(path: string, options: PolicyFileOptions = {}): Promise<PolicyFile> {
  refuseUnknown(options, NAMES, "openPolicyFile");
  const stamp = await stampOf(path);
  const opened = new OpenedPolicyFile(path, options, await loadPolicyFile(path, options.tools?.subjects));
  if (options.watch === true) opened.watch(stamp);
  return opened;
}

class OpenedPolicyFile implements PolicyFile {
  readonly #path: string;
  readonly #options: PolicyFileOptions;
  #loaded: LoadedPolicy;
  #watch: FileWatch | undefined;
  #isClosed = false;
  /** The last reload; each begins when the one before has ended. */
  #reloading: Promise<boolean> = Promise.resolve(true);
  /** What the last reload reported, unless it succeeded: watching must not repeat it. */
  #reported: string | undefined;

  constructor(path: string, options: PolicyFileOptions, loaded: LoadedPolicy) {
    this.#path = path;
    this.#options = options;
    this.#loaded = loaded;
  }

  watch(stamp: string): void {
    this.#watch = new FileWatch(this.#path, stamp, () => {
      this.#reloading = this.#reloading.then(() => this.#reload(this.#reported));
    });
  }

  get loaded(): LoadedPolicy {
    return this.#loaded;
  }

  get revision(): string {
    return this.#loaded.policy.revision;
  }

  get sources(): readonly string[] {
    return this.#loaded.policy.sources;
  }

  get places(): readonly (PolicyPlace | undefined)[] {
    return this.#loaded.policy.places;
  }

  get usesHistory(): boolean {
    return this.#loaded.policy.usesHistory;
  }

  get trackedFields(): TrackedFields | undefined {
    return this.#loaded.policy.trackedFields;
  }

  check(request: PolicyRequest): PolicyDecision {
    return this.#loaded.policy.check(request);
  }

  explain(request: PolicyRequest): PolicyExplanation {
    return this.#loaded.policy.explain(request);
  }

  reload(): Promise<boolean> {
    this.#reloading = this.#reloading.then(() => this.#reload(undefined));
    return this.#reloading;
  }

  /** @param known A failure that is not reported again. */
  async #reload(known: string | undefined): Promise<boolean> {
    if (this.#isClosed) return false;
    const { tools, onReload } = this.#options;
    try {
      const loaded = await loadPolicyFile(this.#path, tools?.subjects);
      if (loaded.policy.revision !== this.revision) await onReload?.(loaded);
      if (this.#isClosed) return false;
      this.#loaded = loaded;
      this.#reported = undefined;
      return true;
    } catch (error) {
      this.#reported = String(error);
      if (this.#reported !== known) this.#report(error);
      return false;
    }
  }

  #report(error: unknown): void {
    const { onError = warn } = this.#options;
    try {
      onError(error);
    } catch (thrown) {
      warn(thrown);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#watch?.[Symbol.dispose]();
    await this.#reloading;
  }
}

function warn(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.emitWarning(`The policy file was not reloaded: ${reason}`, { code: "SANDGATE_POLICY_FILE" });
}

/** Returns the stamp of a file, to which links are followed. */
export async function stampOf(path: string): Promise<FileStamp> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return "unreadable";
  }
}
