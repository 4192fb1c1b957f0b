import type { Hash } from "node:crypto";
import { loadCrypto } from "../../base/load-crypto.ts";
import { ChangeBudget } from "../change-budget.ts";
import { WorkspaceError } from "../error.ts";
import { MAX_READ_BYTES, WorkspaceFile } from "../file.ts";
import { OPEN_EACH_TIME } from "../handles/directory-cache.ts";
import type { OpenHandles } from "../handles/open-handles.ts";
import { type OpenOptions, openPath } from "../open-path.ts";
import { WorkspaceRoot } from "../root.ts";
import type { StagedMount } from "./staged-mount.ts";
import type { StagedQuota } from "./staged-quota.ts";
import type { DiskEntry } from "./staged-record.ts";
import type { StagedStore } from "./staged-store.ts";

/** Counts what is written to staged contents, against the limits of the call and those of staged changes. */
class StagedBudget extends ChangeBudget {
  readonly #call: ChangeBudget;
  readonly #room: StagedQuota;

  constructor(call: ChangeBudget, room: StagedQuota) {
    super(Number.POSITIVE_INFINITY);
    this.#call = call;
    this.#room = room;
  }

  override change(bytes = 0): void {
    this.#room.take(bytes, 0);
    try {
      this.#call.change(bytes);
    } catch (error) {
      this.#room.giveBack(bytes, 0);
      throw error;
    }
  }

  override create(): void {
    this.#call.create();
  }
}

/** The largest file whose change can be staged: it is read as a whole to notice that others change it. */
const MAX_STAGED_FILE_BYTES: number = 64 * 1_024 * 1_024;

/** The staged contents, opened for one call. */
export class StagedContents {
  readonly store: StagedStore;
  readonly room: StagedQuota;
  readonly #root: WorkspaceRoot;

  /** @throws {DirectoryGrantError} if the folder cannot be used. */
  constructor({ store, room }: StagedMount, handles: OpenHandles, budget: ChangeBudget) {
    this.store = store;
    this.room = room;
    const grant = { directory: this.store.contents, write: true };
    this.#root = new WorkspaceRoot(grant, handles, new StagedBudget(budget, this.room), {
      index: 0,
      directories: OPEN_EACH_TIME,
    });
  }

  /** Opens staged contents, or creates them. */
  open(content: string, options: OpenOptions): WorkspaceFile {
    const opened = openPath(this.#root, this.#root.fd.number, content, { ...options, links: "refused" });
    if (opened instanceof WorkspaceFile) return opened;
    opened.fd.release();
    throw new WorkspaceError("io");
  }

  /** Creates contents with a new name, for writing. */
  create(): { readonly content: string; readonly file: WorkspaceFile } {
    const content = this.store.newContent();
    return { content, file: this.open(content, { read: true, write: true, create: true, exclusive: true }) };
  }

  /** Removes contents that no record names any more. */
  remove(content: string): void {
    this.room.giveBack(this.store.removeContent(content), 0);
  }
}

/**
 * Reads a whole file of the disk, to notice later that others have changed it.
 *
 * @param copy Where its contents are copied. Default: nowhere.
 */
export function readDisk(file: WorkspaceFile, copy?: WorkspaceFile): Extract<DiskEntry, { kind: "file" }> {
  const hash: Hash = loadCrypto().createHash("sha256");
  let bytes = 0;
  for (;;) {
    const chunk = file.read(bytes, MAX_READ_BYTES);
    if (chunk.length === 0) return { kind: "file", sha256: hash.digest("hex"), bytes };
    if (bytes + chunk.length > MAX_STAGED_FILE_BYTES) {
      throw new WorkspaceError("file-too-large", "changes of files larger than 64 MiB cannot be held");
    }
    hash.update(chunk);
    copy?.write(bytes, chunk);
    bytes += chunk.length;
  }
}
