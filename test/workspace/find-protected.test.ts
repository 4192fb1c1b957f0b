import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findProtected } from "../../src/workspace/find-protected.ts";
import { workspaceIsSupported } from "../../src/workspace/paths/fd-path.ts";
import { Workspace } from "../../src/workspace/workspace.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "find-protected-")));
});
afterEach(() => rmSync(root, { recursive: true }));

function make(...directories: readonly string[]): void {
  for (const directory of directories) mkdirSync(join(root, directory), { recursive: true });
}

/** The places as `path kind`, with `+` for a beginning. */
function find(directory = root): readonly string[] {
  const fd = openSync(directory, "r");
  const found = findProtected(fd, { named: directory.split("/").filter((name) => name !== "") });
  for (const place of [...found, { fd }]) closeSync(place.fd);
  return found.map(({ path, kind, isBeginning }) => `${path} ${kind}${isBeginning ? "+" : ""}`).sort();
}

describe.skipIf(!workspaceIsSupported())("finding protected places", () => {
  test("finds them in the directory and in repositories below it, with their beginnings", () => {
    make(".git/hooks", ".git/refs", "a/b/.git/hooks", ".ssh", "src");
    writeFileSync(join(root, ".git/config"), "");
    writeFileSync(join(root, ".Bashrc"), "");
    expect(find()).toEqual([
      ".Bashrc file",
      ".git directory+",
      ".git/config file",
      ".git/hooks directory",
      ".ssh directory",
      "a/b/.git directory+",
      "a/b/.git/hooks directory",
    ]);
  });

  test("leaves out what the grant names, and what is in packages", () => {
    make("node_modules/p/.git/hooks", ".git/hooks");
    expect(find()).toEqual([".git directory+", ".git/hooks directory"]);
    expect(find(join(root, ".git"))).toEqual(["hooks directory"]);
    expect(find(join(root, ".git/hooks"))).toEqual([]);
  });

  test("leaves out new versions of files that are being written, and nothing else of Sandgate's own", () => {
    using workspace = new Workspace([{ directory: root, write: true }], 1_024);
    using replacement = workspace.directories[0]?.directory.replace("a.txt", { create: true });
    make(".sandgate", ".sandgate-0");
    expect(readdirSync(root)).toHaveLength(3);
    expect(find()).toEqual([".sandgate directory", ".sandgate-0 directory"]);
    expect(replacement).toBeDefined();
  });

  test("follows no links, and a file that only names the repository is protected as a whole", () => {
    make("elsewhere/.git/hooks", "inner");
    symlinkSync("elsewhere/.git", join(root, ".git"));
    writeFileSync(join(root, "inner/.git"), "gitdir: ../elsewhere");
    expect(find()).toEqual([
      ".git link",
      "elsewhere/.git directory+",
      "elsewhere/.git/hooks directory",
      "inner/.git file",
    ]);
  });

  test("searches no more than 200 directories", () => {
    for (let index = 0; index < 250; index++) make(`d${index}/.ssh`);
    expect(find().length).toBe(199);
  });
});
