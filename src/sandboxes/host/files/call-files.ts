import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import { DirectoryCache } from "../../../workspace/handles/directory-cache.ts";
import type { StageChanges, StagedFiles } from "../../contract/staged-changes.ts";
import { HostFiles } from "./host-files.ts";

/** Opens the files of calls, and keeps granted directories open for a few seconds. */
export class CallFiles implements Disposable {
  readonly #directories = new DirectoryCache();

  /**
   * Opens the files of a call: those on disk, or what holds their changes.
   *
   * @throws {DirectoryGrantError} if a granted directory cannot be used, and what `hold` throws.
   */
  open(
    grants: readonly FsGrant[],
    fileBytes: number | undefined,
    hold: StageChanges | undefined,
  ): StagedFiles {
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

class DiskFiles implements StagedFiles {
  readonly files: HostFiles;

  constructor(files: HostFiles) {
    this.files = files;
  }

  get writtenBytes(): number {
    return this.files.writtenBytes;
  }

  get changes(): StagedFiles["changes"] {
    return this.files.changes;
  }

  end(): void {
    this.files.end();
  }
}

class FilesOverDisk implements StagedFiles {
  readonly #held: StagedFiles;
  readonly #disk: HostFiles;

  constructor(held: StagedFiles, disk: HostFiles) {
    this.#held = held;
    this.#disk = disk;
  }

  get files(): StagedFiles["files"] {
    return this.#held.files;
  }

  get writtenBytes(): number {
    return this.#held.writtenBytes;
  }

  get changes(): StagedFiles["changes"] {
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
