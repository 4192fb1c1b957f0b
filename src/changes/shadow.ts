import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { syscall, WorkspaceError } from "../workspace/error.ts";
import { readOwnFile, type StagedRecord } from "../workspace/staged/staged-record.ts";
import { StagedStore } from "../workspace/staged/staged-store.ts";
import { acceptRecords, recover } from "./accepting/accept.ts";
import { AcceptingJournal, isRunning, ownProcess } from "./accepting/accepting-journal.ts";
import { conflictOf, findEntry, readFile } from "./disk-entry.ts";
import { DiffBudget } from "./file-diff.ts";
import { folderName, OWN_FOLDER, ownFolder, removeOwnFolder, SHADOWS } from "./own-folder.ts";
import {
  type AcceptedChanges,
  type ChangeConflict,
  describe,
  hashContents,
  type PendingChange,
  RecordsByPath,
} from "./pending.ts";
import {
  copyFile,
  copyTree,
  entriesOf,
  MAX_BYTES,
  parseTree,
  readTree,
  TooLargeError,
  type Tree,
  type TreeEntry,
  treeText,
} from "./shadow-tree.ts";
import type { StagedChanges } from "./staged-changes.ts";
import { WorkspacePlaces } from "./workspace-places.ts";

/**
 * A copy of a workspace, `.sandgate/shadows/<task-id>/`, in which an agent works. Nothing reaches the workspace until it is
 * merged. It has a repository of its own, so that no program that works in it can reach that of the workspace: see
 * `copyRepository`.
 */
export class ShadowTree {
  readonly workspace: string;
  /** The copy: an absolute path without links. */
  readonly directory: string;
  readonly #name: string;

  private constructor(workspace: string, name: string) {
    this.workspace = workspace;
    this.directory = join(workspace, OWN_FOLDER, SHADOWS, name);
    this.#name = name;
  }

  /**
   * Copies the workspace, or opens the copy that an earlier process has made for the task.
   *
   * @param workspace An absolute path without links.
   * @throws {TooLargeError} as a rejection, if the workspace has more than 100,000 entries or 4 GiB.
   */
  static async open(workspace: string, taskId: string): Promise<ShadowTree> {
    const name = folderName(taskId);
    const shadow = new ShadowTree(workspace, name);
    // Ensures that no link leads out of the workspace, before anything is removed or opened.
    ownFolder(workspace, SHADOWS, name);
    if (shadow.#readBase() !== undefined) return shadow;
    // A copy without its base is incomplete.
    removeOwnFolder(shadow.directory);
    ownFolder(workspace, SHADOWS, name);
    try {
      using from = new WorkspacePlaces(workspace);
      await copyTree(from, shadow.directory);
      await copyRepository(from, shadow.directory);
      using copy = new WorkspacePlaces(shadow.directory);
      shadow.#writeBase(await readTree(copy));
    } catch (error) {
      removeOwnFolder(shadow.directory);
      throw error;
    }
    return shadow;
  }

  /** Returns the changes in the copy, sorted by path. */
  async pending(): Promise<readonly PendingChange[]> {
    return this.#withRecords(async (places, store, records) => {
      const changes: PendingChange[] = [];
      const listed = { store, all: new RecordsByPath(records), budget: new DiffBudget() };
      for (const record of records) changes.push(await describe(places, listed, record));
      return changes;
    });
  }

  /**
   * Applies all changes of the copy to the workspace, or none of them, even after a failure or a crash.
   *
   * @param staged Where to stage them. Default: they are applied to the disk.
   */
  async merge(staged?: StagedChanges): Promise<AcceptedChanges> {
    return this.#withRecords(async (places, store, records, unsupported, after) => {
      const conflicts: ChangeConflict[] = [...unsupported];
      for (const record of records) {
        const reason = await conflictOf(places, record);
        if (reason !== undefined) conflicts.push({ path: record.path, reason });
      }
      if (conflicts.length > 0 || records.length === 0) return { accepted: [], conflicts };
      if (staged !== undefined) {
        const taken = await staged.adopt(store, records);
        if (taken.length > 0) return { accepted: [], conflicts: taken };
      } else {
        const changed = await acceptRecords(places, store, records);
        if (changed !== undefined) return { accepted: [], conflicts: [{ path: changed, reason: "changed" }] };
      }
      this.#writeBase(after);
      return { accepted: records.map(({ path }) => path).sort(), conflicts: [] };
    });
  }

  /** Removes the copy. */
  discard(): void {
    removeOwnFolder(this.#baseFile);
    removeOwnFolder(this.directory);
  }

  get #baseFile(): string {
    return `${this.directory}.json`;
  }

  #writeBase(tree: Tree): void {
    const temporary = `${this.#baseFile}.new`;
    removeOwnFolder(temporary);
    syscall(() => {
      writeFileSync(temporary, treeText(tree), { flag: "wx", mode: 0o600 });
      renameSync(temporary, this.#baseFile);
    });
  }

  #readBase(): Tree | undefined {
    return parseTree(readOwnFile(this.#baseFile, MAX_BASE_BYTES));
  }

  /**
   * Copies the changed files first, so that they cannot change while they are merged. Waits for earlier
   * operations of other callers on the same copy.
   */
  #withRecords<Result>(act: Act<Result>): Promise<Result> {
    const result = (RUNNING.get(this.directory) ?? Promise.resolve()).then(() => this.#copyRecords(act));
    const ended = result.then(
      () => {},
      () => {},
    );
    RUNNING.set(this.directory, ended);
    void ended.then(() => RUNNING.get(this.directory) === ended && RUNNING.delete(this.directory));
    return result;
  }

  async #copyRecords<Result>(act: Act<Result>): Promise<Result> {
    const base = this.#readBase();
    if (base === undefined) throw new WorkspaceError("no-entry", "the copy was removed");
    using places = new WorkspacePlaces(this.workspace);
    using copy = new WorkspacePlaces(this.directory);
    // No session has a folder of this name.
    const store = new StagedStore(ownFolder(this.workspace, "changes", `+${this.#name}`));
    const merging = new AcceptingJournal(store.folder).read()?.process;
    if (merging !== undefined && merging !== ownProcess() && isRunning(merging)) {
      throw new WorkspaceError("busy", "another process is merging this copy: try again");
    }
    recover(places, store, true);
    const after = await readTree(copy);
    const records: StagedRecord[] = [];
    const unsupported: ChangeConflict[] = [];
    try {
      for (const path of [...new Set([...base.keys(), ...after.keys()])].sort()) {
        const [was, now] = [base.get(path), after.get(path)];
        if (JSON.stringify(was) === JSON.stringify(now) || (await isThere(places, path, now))) continue;
        if (was?.kind === "other" || now?.kind === "other" || now?.kind === "link") {
          unsupported.push({ path, reason: "unsupported" });
        } else records.push({ path, was: was ?? null, now: await this.#stage(copy, store, path, now) });
      }
      for (const record of records) store.put(record);
      return await act(places, store, records, unsupported, after);
    } finally {
      // Retries a merge that could neither be completed nor undone.
      if (new AcceptingJournal(store.folder).read() === undefined) removeOwnFolder(store.folder);
    }
  }

  async #stage(
    copy: WorkspacePlaces,
    store: StagedStore,
    path: string,
    now: Exclude<TreeEntry, { kind: "link" | "other" }> | undefined,
  ): Promise<StagedRecord["now"]> {
    if (now === undefined) return { kind: "gone" };
    if (now.kind === "directory") return now;
    const content = store.newContent();
    copyFile(copy, path, join(store.contents, content));
    if ((await hashContents(store, content)) !== now.sha256) {
      throw new WorkspaceError("busy", "a file of the copy is being changed: try again");
    }
    return { kind: "file", content };
  }
}

type Act<Result> = (
  places: WorkspacePlaces,
  store: StagedStore,
  records: readonly StagedRecord[],
  unsupported: readonly ChangeConflict[],
  after: Tree,
) => Promise<Result>;

/** Maximum size of a base, which has up to 100,000 entries. */
const MAX_BASE_BYTES: number = 256 * 1_024 * 1_024;

/** The pending operation of each copy. */
const RUNNING = new Map<string, Promise<void>>();

/**
 * Whether the workspace already has an entry of the copy: a merge was completed after a crash, or another
 * process has made the same change.
 */
async function isThere(places: WorkspacePlaces, path: string, now: TreeEntry | undefined): Promise<boolean> {
  try {
    const found = findEntry(places, path);
    if (now === undefined) return found.kind === "missing";
    if (now.kind !== "file") return now.kind === "directory" && found.kind === "directory";
    const isSameSize = found.kind === "file" && found.stats.size === now.bytes;
    return isSameSize && (await readFile(places, path)) === now.sha256;
  } catch (error) {
    if (error instanceof WorkspaceError) return false;
    throw error;
  }
}

/**
 * Settings for how files map to the index, and for the author of commits. None of them makes git run a
 * program.
 */
const COPIED_SETTINGS: ReadonlyMap<string, RegExp> = new Map([
  ["core.filemode", /^(true|false)$/i],
  ["core.symlinks", /^(true|false)$/i],
  ["core.autocrlf", /^(true|false|input)$/i],
  ["core.eol", /^(lf|crlf|native)$/i],
  // Without characters that have a meaning in configuration.
  ["user.name", /^[^\p{C}"\\;#]{1,200}$/u],
  ["user.email", /^[^\p{C}"\\;#]{1,200}$/u],
]);

const SECTION = /^\s*\[\s*([\w.-]+)[^\]]*\]/;

const SETTING = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/;

/**
 * The files of a repository other than its objects. References are copied first, so that the objects they
 * need exist.
 */
const FIRST = /^(HEAD|packed-refs|shallow|index|sharedindex\.[0-9a-f]+|info\/exclude|refs\/(?!stash$).+)$/;
const OBJECTS = /^objects\/.+/;

/** Files that refer to objects of other repositories. */
const ALTERNATES: readonly string[] = ["objects/info/alternates", "objects/info/http-alternates"];

/** Maximum size of a configuration that is read. */
const MAX_CONFIG_BYTES = 65_536;

/**
 * Gives the copy of a workspace a repository of its own: with the objects, the references and the index of
 * the workspace's, and a new configuration. Nothing that git runs is copied, such as hooks, and nothing is
 * shared. No program runs, and no link is followed.
 *
 * The copy gets no repository if the workspace is not the root of one, if its repository is elsewhere (as in
 * a worktree or a submodule), has objects elsewhere, uses an extension of the format, or is larger than
 * 100,000 files or 4 GiB.
 *
 * @param to The copy.
 * @returns whether the copy has a repository.
 */
export async function copyRepository(from: WorkspacePlaces, to: string): Promise<boolean> {
  const target = join(to, ".git");
  try {
    const config = await configOf(from);
    if (config === undefined || ALTERNATES.some((path) => from.exists(`.git/${path}`))) return false;
    syscall(() => mkdirSync(target));
    for (const path of ["objects", "refs"]) syscall(() => mkdirSync(join(target, path)));
    syscall(() => writeFileSync(join(target, "config"), config, { flag: "wx" }));
    let bytes = 0;
    for (const pattern of [FIRST, OBJECTS]) bytes = await copyMatching(from, target, pattern, bytes);
    return true;
  } catch (error) {
    // A repository that changes while it is copied, for example during a garbage collection, is not usable.
    if (!(error instanceof WorkspaceError || error instanceof TooLargeError)) throw error;
    rmSync(target, { recursive: true, force: true });
    return false;
  }
}

async function copyMatching(
  from: WorkspacePlaces,
  target: string,
  pattern: RegExp,
  before: number,
): Promise<number> {
  let bytes = before;
  for await (const [path, entry] of entriesOf(from, ".git")) {
    const name = path.slice(".git/".length);
    if (!entry.isFile() || !pattern.test(name) || name.endsWith(".lock")) continue;
    syscall(() => mkdirSync(dirname(join(target, name)), { recursive: true }));
    bytes += copyFile(from, path, join(target, name));
    if (bytes > MAX_BYTES) throw new TooLargeError("the repository has more than 4 GiB");
  }
  return bytes;
}

/** Returns the configuration for a copy; `undefined` if the repository cannot be copied. */
async function configOf(from: WorkspacePlaces): Promise<string | undefined> {
  if (findEntry(from, ".git").kind !== "directory") return undefined;
  const found = findEntry(from, ".git/config");
  if (found.kind !== "file" || found.stats.size > MAX_CONFIG_BYTES) return undefined;
  const chunks: Buffer[] = [];
  await readFile(from, ".git/config", (chunk) => chunks.push(chunk));
  return freshConfig(Buffer.concat(chunks).toString("utf8"));
}

/**
 * Returns a configuration for a copy of a repository, with its few harmless settings. It leaves out those by
 * which git runs programs, includes other files, or reaches remote repositories.
 *
 * @param text The configuration of the repository (git-config(1)).
 * @returns `undefined` if the repository has a format that not all versions of git support.
 */
export function freshConfig(text: string): string | undefined {
  const copied = new Map<string, string>();
  let section = "";
  for (const line of text.split("\n")) {
    const start = SECTION.exec(line);
    // A subsection, as in `[core "x"]`, is another section.
    if (start !== null) section = start[0].includes('"') ? "" : (start[1] as string).toLowerCase();
    if (start?.[1]?.toLowerCase() === "extensions") return undefined;
    const [, name = "", value = ""] = SETTING.exec(line.slice(start?.[0].length ?? 0)) ?? [];
    const key = `${section}.${name.toLowerCase()}`;
    if (key === "core.repositoryformatversion" && value !== "0") return undefined;
    if (COPIED_SETTINGS.get(key)?.test(value)) copied.set(key, value);
  }
  const lines = [...copied].map(([key, value]) => {
    const [of = "", name = ""] = key.split(".");
    return `[${of}]\n\t${name} = "${value}"\n`;
  });
  return `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${lines.join("")}`;
}
