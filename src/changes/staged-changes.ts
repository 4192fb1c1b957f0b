import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { StageChanges } from "../sandboxes/contract/staged-changes.ts";
import { HostFiles } from "../sandboxes/host/files/host-files.ts";
import { syscallUnless } from "../workspace/error.ts";
import type { StagedMount } from "../workspace/staged/staged-mount.ts";
import { STAGED_LIMITS, StagedQuota } from "../workspace/staged/staged-quota.ts";
import { SeenVersions, type StagedRecord } from "../workspace/staged/staged-record.ts";
import { StagedStore } from "../workspace/staged/staged-store.ts";
import { acceptRecords, recover } from "./accepting/accept.ts";
import { conflictOf } from "./disk-entry.ts";
import { DiffBudget } from "./file-diff.ts";
import { folderName, OWN_FOLDER, otherFolders, ownFolder, removeOwnFolder } from "./own-folder.ts";
import {
  type AcceptedChanges,
  type AcceptOptions,
  type ChangeConflict,
  describe,
  digestOf,
  digestOfAll,
  hashAll,
  hashContents,
  type ListedChanges,
  type PendingChange,
  RecordsByPath,
  rejectedWith,
} from "./pending.ts";
import { WorkspacePlaces } from "./workspace-places.ts";

const FOLDER = "changes";

/**
 * The staged changes of a session. They are stored in `.sandgate/changes/` of the workspace, and survive this process. All
 * methods run one after the other; while changes are being accepted or rejected, no call can change anything.
 */
export class StagedChanges {
  readonly #places: WorkspacePlaces;
  readonly #mount: StagedMount;
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Opens the staged changes of a session, and completes or undoes what an earlier process was accepting in the workspace.
   *
   * @param workspace An absolute path without links.
   * @param all Counts the changes of all sessions.
   * @throws {DirectoryGrantError} if the workspace does not exist, or is reached through a link.
   * @throws {WorkspaceError} if the changes cannot be stored, or what was being accepted can neither be completed nor undone.
   */
  constructor(workspace: string, sessionId: string, all: StagedQuota = new StagedQuota(STAGED_LIMITS.all)) {
    const name = folderName(sessionId);
    const store = new StagedStore(ownFolder(workspace, FOLDER, name));
    this.#places = new WorkspacePlaces(workspace);
    try {
      recover(this.#places, store, true);
      for (const folder of otherFolders(workspace, FOLDER, name)) {
        recover(this.#places, new StagedStore(ownFolder(workspace, FOLDER, folder)));
      }
      store.sweep();
      const room = new StagedQuota(STAGED_LIMITS.session, all);
      room.add(store.amount());
      this.#mount = { workspace, store, room, seen: new SeenVersions() };
    } catch (error) {
      this.#places[Symbol.dispose]();
      throw error;
    }
  }

  /** Whether a session has staged changes, as far as is known without opening them. */
  static exist(workspace: string, sessionId: string): boolean {
    const records = join(workspace, OWN_FOLDER, FOLDER, folderName(sessionId), "records");
    return (syscallUnless(["no-entry", "not-directory"], () => readdirSync(records)) ?? []).length > 0;
  }

  /** Opens the files of a call, so that its changes are staged. */
  readonly stage: StageChanges = ({ grants, fileBytes }) => {
    const files = new HostFiles(grants, fileBytes, { staged: this.#mount });
    return {
      files,
      get writtenBytes() {
        return files.writtenBytes;
      },
      get changes() {
        return files.changes;
      },
      end: () => files.end(),
    };
  };

  /** How many changes are staged, without reading them. */
  get count(): number {
    return this.#mount.room.entries;
  }

  get isEmpty(): boolean {
    return this.#store.all().length === 0;
  }

  /**
   * Returns the staged changes, sorted by path.
   *
   * @param path Only the change of this path. Default: all.
   */
  pending(path?: string): Promise<readonly PendingChange[]> {
    return this.#next(async () => {
      const all = this.#store.all();
      const records = path === undefined ? all : [this.#find(path) ?? []].flat();
      const changes: PendingChange[] = [];
      const listed = { store: this.#store, all: new RecordsByPath(all), budget: new DiffBudget() };
      for (const record of records) changes.push(...(await this.#describe(record, listed)));
      return changes;
    });
  }

  /**
   * Applies one change to the disk, with the changes of directories that it needs.
   *
   * @returns `undefined` if no change of this path is staged.
   */
  accept(path: string, { digest }: AcceptOptions = {}): Promise<AcceptedChanges | undefined> {
    return this.#locked(async () => {
      const record = this.#find(path);
      if (record === undefined) return undefined;
      const all = new RecordsByPath(this.#store.all());
      const records = all.acceptedWith(record);
      const hashes = await hashAll(this.#store, records);
      const now = { store: this.#store, all };
      if (digest !== undefined && digest !== (await digestOf(now, record, hashes.get(record.path)))) {
        return { accepted: [], conflicts: [{ path, reason: "not-shown" }] };
      }
      return this.#accept(records, hashes);
    });
  }

  /**
   * Applies all changes to the disk, or none of them, even after a failure or a crash.
   *
   * @param options The digest must be that of all changes: see {@link digestOfAll}.
   */
  acceptAll({ digest }: AcceptOptions = {}): Promise<AcceptedChanges> {
    return this.#locked(async () => {
      const records = this.#store.all();
      const hashes = await hashAll(this.#store, records);
      if (digest !== undefined) {
        const now = { store: this.#store, all: new RecordsByPath(records) };
        const digests: { digest: string }[] = [];
        for (const record of records)
          digests.push({ digest: await digestOf(now, record, hashes.get(record.path)) });
        if (digestOfAll(digests) !== digest) {
          return { accepted: [], conflicts: [{ path: ".", reason: "not-shown" }] };
        }
      }
      return this.#accept(records, hashes);
    });
  }

  /**
   * Discards a change, with those that depend on it.
   *
   * @returns the paths of the changes; empty if no change of this path is staged.
   */
  reject(path: string): Promise<readonly string[]> {
    return this.#locked(async () => {
      const record = this.#find(path);
      return record === undefined ? [] : this.#forget(rejectedWith(this.#store.all(), record));
    });
  }

  /**
   * Stages the changes of another store, such as those of a shadow.
   *
   * @returns conflicts with changes that are already staged. If there are any, no change is staged.
   */
  adopt(from: StagedStore, records: readonly StagedRecord[]): Promise<readonly ChangeConflict[]> {
    return this.#locked(async () => {
      const taken = records.filter(({ path }) => this.#find(path) !== undefined);
      if (taken.length > 0) return taken.map(({ path }) => ({ path, reason: "changed" as const }));
      const { bytes, entries } = from.amount();
      this.#mount.room.acquire(bytes, entries);
      for (const { path, was, now } of records) {
        if (now.kind === "file") {
          renameSync(join(from.contents, now.content), join(this.#store.contents, now.content));
        }
        this.#store.put({ path, was, now });
      }
      return [];
    });
  }

  /** Discards all changes. Returns their paths. */
  rejectAll(): Promise<readonly string[]> {
    return this.#locked(async () => this.#forget(this.#store.all()));
  }

  /** Closes the workspace. Staged changes stay staged. */
  close(): Promise<void> {
    return this.#next(async () => {
      this.#mount.room.clear();
      this.#places[Symbol.dispose]();
    });
  }

  /** Closes the workspace, and removes all that is staged. */
  async remove(): Promise<void> {
    await this.close();
    removeOwnFolder(this.#store.folder);
  }

  /** Returns nothing for a change that a call has undone meanwhile. */
  async #describe(first: StagedRecord, listed: ListedChanges): Promise<readonly PendingChange[]> {
    for (let record: StagedRecord | undefined = first; record !== undefined; ) {
      try {
        return [await describe(this.#places, listed, record)];
      } catch (error) {
        // A call can have replaced the contents meanwhile.
        const newer = this.#find(record.path);
        if (JSON.stringify(newer) === JSON.stringify(record)) throw error;
        record = newer;
      }
    }
    return [];
  }

  get #store(): StagedStore {
    return this.#mount.store;
  }

  #find(path: string): StagedRecord | undefined {
    return this.#store.find(path.replace(/\/$/, ""));
  }

  /**
   * @param hashes The digests of the new contents: a call can still be writing to a file that it opened
   *   before.
   */
  async #accept(
    records: readonly StagedRecord[],
    hashes: ReadonlyMap<string, string>,
  ): Promise<AcceptedChanges> {
    const conflicts = await conflictsOf(this.#places, records);
    if (conflicts.length > 0 || records.length === 0) return { accepted: [], conflicts };
    const before = this.#store.amount();
    try {
      const changed = await acceptRecords(this.#places, this.#store, records, hashes);
      if (changed !== undefined) {
        const conflict = await conflictAt(changed, this.#places, this.#store, records, hashes);
        return { accepted: [], conflicts: [conflict] };
      }
    } finally {
      this.#recount(before);
    }
    return { accepted: records.map(({ path }) => path).sort(), conflicts: [] };
  }

  #forget(records: readonly StagedRecord[]): readonly string[] {
    const before = this.#store.amount();
    for (const record of records) {
      if (this.#store.remove(record) && record.now.kind === "file")
        this.#store.removeContent(record.now.content);
    }
    this.#recount(before);
    return records.map(({ path }) => path).sort();
  }

  #recount(before: ReturnType<StagedStore["amount"]>): void {
    const { bytes, entries } = this.#store.amount();
    this.#mount.room.release(before.bytes - bytes, before.entries - entries);
  }

  async #locked<Result>(act: () => Promise<Result>): Promise<Result> {
    return this.#next(async () => {
      this.#store.isLocked = true;
      try {
        this.#recover();
        return await act();
      } finally {
        this.#store.isLocked = false;
      }
    });
  }

  /**
   * Retries what an earlier call could neither complete nor undo, so that this cannot accept rejected changes
   * later.
   */
  #recover(): void {
    if (recover(this.#places, this.#store, true) !== "accepted") return;
    this.#mount.room.clear();
    this.#mount.room.add(this.#store.amount());
  }

  #next<Result>(act: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(act);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** Returns the conflicts of changes with what is on the disk now. */
async function conflictsOf(
  places: WorkspacePlaces,
  records: readonly StagedRecord[],
): Promise<readonly ChangeConflict[]> {
  const conflicts: ChangeConflict[] = [];
  for (const record of records) {
    const reason = await conflictOf(places, record);
    if (reason !== undefined) conflicts.push({ path: record.path, reason });
  }
  return conflicts;
}

/**
 * Returns a conflict that was found only while changes were being applied.
 *
 * @param path The path of the change that could not be applied.
 * @param hashes The expected SHA-256 of the new contents, by their paths.
 */
async function conflictAt(
  path: string,
  places: WorkspacePlaces,
  store: StagedStore,
  records: readonly StagedRecord[],
  hashes: ReadonlyMap<string, string>,
): Promise<ChangeConflict> {
  const record = records.find((each) => each.path === path) as StagedRecord;
  const reason = await conflictOf(places, record);
  const { now, was } = record;
  const isWritten = now.kind === "file" && (await hashContents(store, now.content)) !== hashes.get(path);
  const otherwise = isWritten ? "not-shown" : was?.kind === "directory" ? "not-empty" : "changed";
  return { path, reason: reason ?? otherwise };
}
