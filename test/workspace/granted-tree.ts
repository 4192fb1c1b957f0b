import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { DirectoryGrant } from "../../src/policy/grant/fs-grant.ts";
import { openDirectory, openFile } from "../../src/workspace/entries.ts";
import { WorkspaceError } from "../../src/workspace/error.ts";
import type { ToolDirectory } from "../../src/workspace/tool-directory.ts";
import { Workspace } from "../../src/workspace/workspace.ts";

const MIB = 1_024 * 1_024;

/** A directory to grant, `root`, and a directory beside it that is not granted, `outside`, with a canary. */
export class GrantedTree implements Disposable {
  readonly base: string = mkdtempSync(join(tmpdir(), "sandgate-workspace-"));
  readonly root: string = join(this.base, "root");
  readonly outside: string = join(this.base, "outside");
  readonly #opened: Workspace[] = [];

  constructor() {
    mkdirSync(join(this.root, "a/b"), { recursive: true });
    mkdirSync(this.outside);
    writeFileSync(join(this.root, "ok.txt"), "OK");
    writeFileSync(join(this.root, "a/in.txt"), "IN");
    writeFileSync(join(this.outside, "secret.txt"), "CANARY");
  }

  /** Opens `root`, by default also for writing. */
  open(grant: Partial<DirectoryGrant> = {}, fileBytes: number = MIB): [ToolDirectory, Workspace] {
    const workspace = new Workspace([{ directory: this.root, write: true, ...grant }], fileBytes);
    this.#opened.push(workspace);
    const [first] = workspace.directories;
    if (first === undefined) throw new Error("no directory was granted");
    return [first.directory, workspace];
  }

  expectUntouchedOutside(): void {
    expect(readdirSync(this.outside)).toEqual(["secret.txt"]);
    expect(readFileSync(join(this.outside, "secret.txt"), "utf8")).toBe("CANARY");
    expect(readdirSync(this.base).sort()).toEqual(["outside", "root"]);
  }

  [Symbol.dispose](): void {
    for (const workspace of this.#opened) workspace[Symbol.dispose]();
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** Whether files can be given to another user here. */
export const CAN_GIVE_AWAY: boolean = process.getuid?.() === 0;
if (!CAN_GIVE_AWAY) console.log("workspace: hard links to files of other users are not tested without root");

/** Gives a file to another user. */
export function giveAway(path: string): void {
  chownSync(path, 65_534, 65_534);
}

/** Reads the beginning of a file. */
export function readText(directory: ToolDirectory, path: string): string {
  const file = openFile(directory, path, { read: true, follow: true });
  const text = textOf(file.read(0, 100));
  file.close();
  return text;
}

/** Replaces the contents of a file by a text. */
export function writeText(directory: ToolDirectory, path: string, text: string): void {
  const file = openFile(directory, path, { write: true, create: true, truncate: true, follow: true });
  try {
    file.write(0, Buffer.from(text));
  } finally {
    file.close();
  }
}

/** Returns the names in a directory, sorted. */
export function listNames(directory: ToolDirectory, path: string): string[] {
  const opened = openDirectory(directory, path);
  const listing = opened.list();
  const names: string[] = [];
  for (let entry = listing.next(); entry !== undefined; entry = listing.next()) names.push(entry.name);
  listing.close();
  opened.close();
  return names.sort();
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

/** Returns the code of the error that `act` throws, or `{ returned }` if it does not throw. */
export function codeOf(act: () => unknown): unknown {
  try {
    return { returned: act() };
  } catch (error) {
    if (error instanceof WorkspaceError) return error.code;
    throw error;
  }
}

/** All operations on a path. */
export const ATTEMPTS: readonly (readonly [
  name: string,
  attempt: (directory: ToolDirectory, path: string) => unknown,
])[] = [
  ["read", readText],
  ["write", (directory, path) => writeText(directory, path, "OVERWRITTEN")],
  [
    "open exclusively",
    (directory, path) => openFile(directory, path, { write: true, create: true, exclusive: true }).close(),
  ],
  ["list", listNames],
  ["stat", (directory, path) => directory.stat(path, { follow: true })],
  ["create a directory", (directory, path) => directory.createDirectory(path)],
  ["remove a directory", (directory, path) => directory.removeDirectory(path)],
  ["remove", (directory, path) => directory.removeFile(path)],
  ["rename from", (directory, path) => directory.rename(path, directory, "stolen.txt")],
  ["rename to", (directory, path) => directory.rename("ok.txt", directory, path)],
];
