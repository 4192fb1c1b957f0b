import type { Hash } from "node:crypto";
import { loadCrypto } from "../../base/load-crypto.ts";
import type { ChangeBudget } from "../change-budget.ts";
import { WorkspaceError } from "../error.ts";
import { MAX_READ_BYTES, WorkspaceFile } from "../file.ts";
import { OPEN_EACH_TIME } from "../handles/kept-directories.ts";
import type { OpenHandles } from "../handles/open-handles.ts";
import { type OpenOptions, openPath } from "../open-path.ts";
import { WorkspaceRoot } from "../root.ts";
import { HeldBudget } from "./held-budget.ts";
import type { HeldMount } from "./held-mount.ts";
import type { DiskEntry } from "./held-record.ts";
import type { HeldRoom } from "./held-room.ts";
import type { HeldStore } from "./held-store.ts";

/** The largest file whose change can be held: it is read as a whole to notice that others change it. */
const MAX_HELD_FILE_BYTES: number = 64 * 1_024 * 1_024;

/** The held contents, opened for one call. */
export class HeldContents {
  readonly store: HeldStore;
  readonly room: HeldRoom;
  readonly #root: WorkspaceRoot;

  /** @throws {DirectoryGrantError} if the folder cannot be used. */
  constructor({ store, room }: HeldMount, handles: OpenHandles, budget: ChangeBudget) {
    this.store = store;
    this.room = room;
    const grant = { directory: this.store.contents, write: true };
    this.#root = new WorkspaceRoot(grant, handles, new HeldBudget(budget, this.room), 0, OPEN_EACH_TIME);
  }

  /** Opens held contents, or creates them. */
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
    if (bytes + chunk.length > MAX_HELD_FILE_BYTES) {
      throw new WorkspaceError("file-too-large", "changes of files larger than 64 MiB cannot be held");
    }
    hash.update(chunk);
    copy?.write(bytes, chunk);
    bytes += chunk.length;
  }
}
