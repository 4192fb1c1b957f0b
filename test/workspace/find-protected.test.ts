import {
  chmodSync,
  chownSync,
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
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { DirectoryGrantError } from "../../src/workspace/root.ts";
import { Workspace } from "../../src/workspace/workspace.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "find-protected-")));
});
afterEach(() => rmSync(root, { recursive: true }));

function make(...directories: readonly string[]): void {
  for (const directory of directories) mkdirSync(join(root, directory), { recursive: true });
}

/** A user whose access the modes of files limit, which they do not for root. */
const USER = process.geteuid?.() === 0 ? 65_534 : (process.geteuid?.() ?? 0);

async function asUser<Result>(act: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return act();
  process.seteuid?.(USER);
  try {
    return await act();
  } finally {
    process.seteuid?.(0);
  }
}

/** The places as `path kind`, with `+` for a beginning. */
async function find(directory = root): Promise<readonly string[]> {
  const fd = openSync(directory, "r");
  const { places: found } = await findProtected(fd, {
    named: directory.split("/").filter((name) => name !== ""),
  });
  for (const place of [...found, { fd }]) closeSync(place.fd);
  return found.map(({ path, kind, isBeginning }) => `${path} ${kind}${isBeginning ? "+" : ""}`).sort();
}

describe.skipIf(!workspaceIsSupported())("finding protected places", () => {
  test("says whether there are more directories than are searched", async () => {
    make("a/b", "c");
    const isComplete = async (most: number): Promise<boolean> => {
      const fd = openSync(root, "r");
      try {
        return (await findProtected(fd, { named: [] }, { maxDirectories: most })).isComplete;
      } finally {
        closeSync(fd);
      }
    };
    expect(await Promise.all([1, 2, 3, 4, 5].map(isComplete))).toEqual([false, false, false, true, true]);
  });

  test("finds them in the directory and in repositories below it, with their beginnings", async () => {
    make(".git/hooks", ".git/refs", "a/b/.git/hooks", ".ssh", "src");
    writeFileSync(join(root, ".git/config"), "");
    writeFileSync(join(root, ".Bashrc"), "");
    expect(await find()).toEqual([
      ".Bashrc file",
      ".git directory+",
      ".git/config file",
      ".git/hooks directory",
      ".ssh directory",
      "a/b/.git directory+",
      "a/b/.git/hooks directory",
    ]);
  });

  test.each([
    0, 0o300, 0o600,
  ])("is refused if a program has closed a directory with the mode %o", async (mode) => {
    make(".git/hooks", "a/b/.git/hooks");
    for (const path of ["", ".git", ".git/hooks", "a", "a/b", "a/b/.git"])
      chownSync(join(root, path), USER, USER);
    for (const closed of [".git", "a", "a/b", "a/b/.git"]) {
      chmodSync(join(root, closed), mode);
      await expect(asUser(() => find())).rejects.toThrow(
        new RegExp(`^'${closed}.*' in the granted directory cannot be`),
      );
      await expect(asUser(() => find())).rejects.toThrow(DirectoryGrantError);
      chmodSync(join(root, closed), 0o755);
    }
    expect(await asUser(() => find())).toContain(".git/hooks directory");
  });

  test("leaves out what another user has closed, since no program can open it", async () => {
    make(".git/hooks", "others");
    for (const path of ["", ".git", ".git/hooks"]) chownSync(join(root, path), USER, USER);
    chmodSync(join(root, "others"), 0o700);
    if (process.geteuid?.() === 0)
      expect(await asUser(() => find())).toEqual([".git directory+", ".git/hooks directory"]);
    else console.log("find-protected: folders of another user are not tested, only root can make them");
  });

  test("leaves out what the grant names, and what is in packages", async () => {
    make("node_modules/p/.git/hooks", ".git/hooks");
    expect(await find()).toEqual([".git directory+", ".git/hooks directory"]);
    expect(await find(join(root, ".git"))).toEqual(["hooks directory"]);
    expect(await find(join(root, ".git/hooks"))).toEqual([]);
  });

  test("leaves out new versions of files that are being written, and nothing else of Sandgate's own", async () => {
    using workspace = new Workspace([{ directory: root, write: true }], 1_024);
    using replacement = workspace.directories[0]?.directory.replace("a.txt", { create: true });
    make(".sandgate", ".sandgate-0");
    expect(readdirSync(root)).toHaveLength(3);
    expect(await find()).toEqual([".sandgate directory", ".sandgate-0 directory"]);
    expect(replacement).toBeDefined();
  });

  test("follows no links, and a file that only names the repository is protected as a whole", async () => {
    make("elsewhere/.git/hooks", "inner");
    symlinkSync("elsewhere/.git", join(root, ".git"));
    writeFileSync(join(root, "inner/.git"), "gitdir: ../elsewhere");
    expect(await find()).toEqual([
      ".git link",
      "elsewhere/.git directory+",
      "elsewhere/.git/hooks directory",
      "inner/.git file",
    ]);
  });

  test("searches no more than 200 directories", async () => {
    for (let index = 0; index < 250; index++) make(`d${index}/.ssh`);
    expect((await find()).length).toBe(199);
  });
});
