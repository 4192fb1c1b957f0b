import { constants, copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { syscall } from "../../workspace/error.ts";
import type { HeldRecord } from "../../workspace/held/held-record.ts";
import { HeldStore } from "../../workspace/held/held-store.ts";
import { acceptRecords } from "../accepting/accept.ts";
import { conflictOf } from "../disk-entry.ts";
import type { AcceptedChanges, ChangeConflict, HeldChanges } from "../held-changes.ts";
import { folderName, OWN_FOLDER, ownFolder, removeOwnFolder } from "../own-folder.ts";
import { DiffBudget } from "../pending/file-diff.ts";
import { describe, type PendingChange } from "../pending/pending.ts";
import { RecordsByPath } from "../pending/related.ts";
import { WorkspacePlaces } from "../workspace-places.ts";
import { copyTree, readTree, type Tree, type TreeEntry } from "./shadow-tree.ts";
import { SHADOWS } from "./shadowed-by.ts";

/**
 * A copy of a workspace, `.sandgate/shadows/<task-id>/`, in which an agent works. Nothing reaches the workspace until it is
 * merged. It has no `.git`, so that no program that works in it can reach the repository.
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
    const shadow = new ShadowTree(workspace, folderName(taskId));
    if (existsSync(shadow.#baseFile)) return shadow;
    // Without its base, a copy was not completed.
    removeOwnFolder(shadow.directory);
    ownFolder(workspace, SHADOWS, shadow.#name);
    try {
      await copyTree(workspace, shadow.directory);
      shadow.#writeBase(await readTree(shadow.directory));
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
   * Makes all changes of the copy in the workspace, or none: neither a failure nor a crash leaves only some of them made.
   *
   * @param held Where they are held, rather than made. Default: they are made.
   */
  async merge(held?: HeldChanges): Promise<AcceptedChanges> {
    return this.#withRecords(async (places, store, records, unsupported) => {
      const conflicts: ChangeConflict[] = [...unsupported];
      for (const record of records) {
        const reason = await conflictOf(places, record);
        if (reason !== undefined) conflicts.push({ path: record.path, reason });
      }
      if (conflicts.length > 0 || records.length === 0) return { accepted: [], conflicts };
      if (held !== undefined) {
        const taken = await held.adopt(store, records);
        if (taken.length > 0) return { accepted: [], conflicts: taken };
      } else {
        const changed = await acceptRecords(places, store, records);
        if (changed !== undefined) return { accepted: [], conflicts: [{ path: changed, reason: "changed" }] };
      }
      this.#writeBase(await readTree(this.directory));
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
    syscall(() => {
      writeFileSync(`${this.#baseFile}.new`, JSON.stringify([...tree]));
      renameSync(`${this.#baseFile}.new`, this.#baseFile);
    });
  }

  #readBase(): Tree {
    return new Map(JSON.parse(readFileSync(this.#baseFile, "utf8")) as [string, TreeEntry][]);
  }

  /** Copies what has changed, so that what is merged does not change meanwhile. */
  async #withRecords<Result>(
    act: (
      places: WorkspacePlaces,
      store: HeldStore,
      records: readonly HeldRecord[],
      unsupported: readonly ChangeConflict[],
    ) => Promise<Result>,
  ): Promise<Result> {
    const [before, after] = [this.#readBase(), await readTree(this.directory)];
    const store = new HeldStore(ownFolder(this.workspace, "changes", `shadow-${this.#name}`.slice(0, 64)));
    using places = new WorkspacePlaces(this.workspace);
    const records: HeldRecord[] = [];
    const unsupported: ChangeConflict[] = [];
    try {
      for (const path of new Set([...before.keys(), ...after.keys()])) {
        const [was, now] = [before.get(path), after.get(path)];
        if (JSON.stringify(was) === JSON.stringify(now)) continue;
        if (was?.kind === "other" || now?.kind === "other" || now?.kind === "link") {
          unsupported.push({ path, reason: "unsupported" });
        } else records.push({ path, was: was ?? null, now: this.#hold(store, path, now) });
      }
      records.sort((a, b) => (a.path < b.path ? -1 : 1));
      for (const record of records) store.put(record);
      return await act(places, store, records, unsupported);
    } finally {
      removeOwnFolder(store.folder);
    }
  }

  #hold(
    store: HeldStore,
    path: string,
    now: Exclude<TreeEntry, { kind: "link" | "other" }> | undefined,
  ): HeldRecord["now"] {
    if (now === undefined) return { kind: "gone" };
    if (now.kind === "directory") return now;
    const content = store.newContent();
    syscall(() =>
      copyFileSync(join(this.directory, path), join(store.contents, content), constants.COPYFILE_FICLONE),
    );
    return { kind: "file", content };
  }
}
