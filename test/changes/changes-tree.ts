import {
  type Dirent,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { StagedChanges } from "../../src/changes/staged-changes.ts";
import type { FsGrant } from "../../src/policy/grant/fs-grant.ts";
import { HostFiles } from "../../src/sandboxes/host/files/host-files.ts";
import type { WorkspaceFiles } from "../../src/tool/workspace-files.ts";

/** A workspace with files, and the staged changes of one session in it. */
export class ChangesTree implements AsyncDisposable {
  readonly base: string = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-changes-")));
  readonly root: string = join(this.base, "root");
  changes: StagedChanges;
  readonly #ended: (() => void)[] = [];

  constructor(files: Readonly<Record<string, string>> = {}) {
    mkdirSync(this.root);
    for (const [path, text] of Object.entries(files)) this.write(path, text);
    this.changes = new StagedChanges(this.root, "session");
  }

  /** Writes a file on the disk, as somebody else would. */
  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  /** The files of a call of the session. */
  files(
    grants: readonly FsGrant[] = [{ directory: this.root, write: true }],
    fileBytes?: number,
  ): WorkspaceFiles {
    const disk = new HostFiles(grants, fileBytes);
    const held = this.changes.stage({ files: disk, grants, fileBytes });
    this.#ended.push(() => {
      held.end();
      disk.end();
    });
    return held.files;
  }

  /** Opens the changes as another process would. */
  async reopen(): Promise<void> {
    for (const end of this.#ended.splice(0)) end();
    await this.changes.close();
    this.changes = new StagedChanges(this.root, "session");
  }

  /** All that is on the disk, without Sandgate's own folder. */
  snapshot(): Readonly<Record<string, string>> {
    return snapshotOf(this.root);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ended) end();
    await this.changes.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** Files with their modes and texts, directories and links below a directory, without Sandgate's own folder. */
export function snapshotOf(root: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true }) as Dirent[]) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(root, path);
    if (name === ".sandgate" || name.startsWith(".sandgate/")) continue;
    if (entry.isDirectory()) found[`${name}/`] = "";
    else if (entry.isSymbolicLink()) found[name] = `-> ${readlinkSync(path)}`;
    else found[name] = `${(lstatSync(path).mode & 0o777).toString(8)} ${readFileSync(path, "utf8")}`;
  }
  return Object.fromEntries(Object.entries(found).sort());
}
