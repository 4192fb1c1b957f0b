import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

/** A new directory on the disk of the repository: that of temporary files may be in memory, where syncing costs nothing. */
export class NewDirectory {
  readonly path: string = mkdtempSync(join(import.meta.dirname, ".journal-"));

  pathOf(name: string): string {
    return join(this.path, name);
  }

  delete(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
