import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import { KeptDirectories } from "../../../workspace/handles/kept-directories.ts";
import type { HeldFiles, HoldChanges } from "../../contract/held-changes.ts";
import { HostFiles } from "./host-files.ts";

/** Opens the files of calls, and keeps granted directories open for a few seconds. */
export class CallFiles implements Disposable {
  readonly #directories = new KeptDirectories();

  /**
   * Opens the files of a call: those on disk, or what holds their changes.
   *
   * @throws {DirectoryGrantError} if a granted directory cannot be used, and what `hold` throws.
   */
  open(grants: readonly FsGrant[], fileBytes: number | undefined, hold: HoldChanges | undefined): HeldFiles {
    const disk = new HostFiles(grants, fileBytes, { directories: this.#directories });
    if (hold === undefined) return new DiskFiles(disk);
    try {
      return new FilesOverDisk(hold({ files: disk, grants, fileBytes }), disk);
    } catch (error) {
      disk.end();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#directories[Symbol.dispose]();
  }
}

class DiskFiles implements HeldFiles {
  readonly files: HostFiles;

  constructor(files: HostFiles) {
    this.files = files;
  }

  get writtenBytes(): number {
    return this.files.writtenBytes;
  }

  get changes(): HeldFiles["changes"] {
    return this.files.changes;
  }

  end(): void {
    this.files.end();
  }
}

class FilesOverDisk implements HeldFiles {
  readonly #held: HeldFiles;
  readonly #disk: HostFiles;

  constructor(held: HeldFiles, disk: HostFiles) {
    this.#held = held;
    this.#disk = disk;
  }

  get files(): HeldFiles["files"] {
    return this.#held.files;
  }

  get writtenBytes(): number {
    return this.#held.writtenBytes;
  }

  get changes(): HeldFiles["changes"] {
    return this.#held.changes;
  }

  end(): void {
    try {
      this.#held.end();
    } finally {
      this.#disk.end();
    }
  }
}
