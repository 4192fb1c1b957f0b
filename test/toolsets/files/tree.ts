import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { HostFiles } from "../../../src/sandboxes/host/files/host-files.ts";
import type { WorkspaceFiles } from "../../../src/tool/workspace-files.ts";

/** A directory with files, and what a tool sees of it. */
export class Tree implements Disposable {
  readonly root: string = realpathSync(mkdtempSync(join(tmpdir(), "tree-")));
  readonly #files = new HostFiles([{ directory: this.root, write: true }]);

  /** @param contents The text or the bytes of each file. */
  constructor(contents: Readonly<Record<string, string | Uint8Array>> = {}) {
    this.add(contents);
  }

  get files(): WorkspaceFiles {
    return this.#files;
  }

  add(contents: Readonly<Record<string, string | Uint8Array>>): void {
    for (const [path, content] of Object.entries(contents)) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true });
      writeFileSync(join(this.root, path), content);
    }
  }

  [Symbol.dispose](): void {
    this.#files.end();
    rmSync(this.root, { recursive: true, force: true });
  }
}
