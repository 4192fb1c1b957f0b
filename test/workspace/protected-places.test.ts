import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDirectory, openFile } from "../../src/workspace/entries.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { codeOf, GrantedTree, readText, writeText } from "./granted-tree.ts";

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  for (const file of [".git/hooks/pre-commit", ".git/config", ".git/index", ".ssh/config", "home/.bashrc"]) {
    mkdirSync(dirname(join(tree.root, file)), { recursive: true });
    writeFileSync(join(tree.root, file), "OLD");
  }
});
afterEach(() => tree[Symbol.dispose]());

describe.skipIf(!workspaceIsSupported())("a protected place", () => {
  test.each([
    ".git/hooks/pre-commit",
    ".git/hooks/new",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    "a/.git",
    "home/.git/config",
    ".ssh/config",
    ".ssh/authorized_keys",
    "home/.bashrc",
    "home/.BASHRC",
    "home/.zshenv",
    "home/.profile",
    ".sandgate-0",
    ".sandgate/plan",
  ])("%s cannot be written, created, removed or replaced below a granted directory", (path) => {
    mkdirSync(join(tree.root, "home/.git"), { recursive: true });
    mkdirSync(join(tree.root, ".sandgate"), { recursive: true });
    const [directory, workspace] = tree.open();
    const attempts: (() => unknown)[] = [
      () => writeText(directory, path, "NEW"),
      () => openFile(directory, path, { write: true, create: true, exclusive: true }),
      () => directory.rename("ok.txt", directory, path),
    ];
    if (path !== "a/.git") attempts.push(() => directory.createDirectory(path));
    if (existsSync(join(tree.root, path))) {
      attempts.push(
        () => openFile(directory, path, { write: true }),
        () => directory.removeFile(path),
        () => directory.rename(path, directory, "moved"),
      );
    }
    for (const attempt of attempts) expect(codeOf(attempt)).toMatch(/^(not-permitted|exist)$/);
    expect(workspace.writtenBytes).toBe(0);
    expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
    if (existsSync(join(tree.root, path))) {
      expect(readFileSync(join(tree.root, path), "utf8")).toBe("OLD");
    }
  });

  test("a protected place can be read, and everything around it can be written", () => {
    const [directory] = tree.open();
    expect(readText(directory, ".git/hooks/pre-commit")).toBe("OLD");
    for (const path of [
      ".git/index",
      "bashrc",
      ".config2",
      "home/.bash",
      "hooks",
      "config",
      // The project's own.
      "Makefile",
      "package.json",
      "home/conftest.py",
      ".env",
      ".prettierrc",
      "justfile",
      "tsconfig.json",
    ]) {
      writeText(directory, path, "NEW");
    }
    directory.createDirectory("a/.git");
    directory.removeDirectory("a/.git");
    expect(readFileSync(join(tree.root, ".git/index"), "utf8")).toBe("NEW");
  });

  test("a protected place cannot be reached through a link or an open directory", () => {
    symlinkSync(".git", join(tree.root, "plain"));
    symlinkSync("home/.bashrc", join(tree.root, "notes.txt"));
    const [directory] = tree.open();
    const git = openDirectory(directory, ".git");
    const hooks = openDirectory(git, "hooks");
    expect(codeOf(() => writeText(directory, "plain/hooks/new", ""))).toBe("not-permitted");
    expect(codeOf(() => writeText(directory, "notes.txt", ""))).toBe("not-permitted");
    expect(codeOf(() => writeText(git, "config", ""))).toBe("not-permitted");
    expect(codeOf(() => writeText(hooks, "new", ""))).toBe("not-permitted");
    expect(readdirSync(join(tree.root, ".git/hooks"))).toEqual(["pre-commit"]);
  });

  test("a protected name cannot be written through if it is a link itself", () => {
    mkdirSync(join(tree.root, "dotfiles/git/hooks"), { recursive: true });
    writeFileSync(join(tree.root, "dotfiles/bashrc"), "OLD");
    symlinkSync("dotfiles/bashrc", join(tree.root, ".bashrc"));
    symlinkSync("../dotfiles/git", join(tree.root, "a/.git"));
    symlinkSync("../dotfiles/new", join(tree.root, "home/.zshrc"));
    symlinkSync("a/.git/hooks", join(tree.root, "hooks-of-a"));
    const [directory] = tree.open();
    const paths = [
      ".bashrc",
      "./a/../.bashrc",
      "a/.git/hooks/new",
      "a/.git/./config",
      "home/.zshrc",
      "hooks-of-a/new",
    ];
    for (const path of paths) {
      expect(
        codeOf(() => writeText(directory, path, "NEW")),
        path,
      ).toBe("not-permitted");
      expect(
        codeOf(() => directory.replace(path, { create: true })),
        path,
      ).toBe("not-permitted");
    }
    expect(codeOf(() => directory.createDirectory("a/.git/hooks/new"))).toBe("not-permitted");
    expect(codeOf(() => directory.rename("ok.txt", directory, "a/.git/hooks/new"))).toBe("not-permitted");
    expect(readFileSync(join(tree.root, "dotfiles/bashrc"), "utf8")).toBe("OLD");
    expect(readText(directory, ".bashrc")).toBe("OLD");
    const hooks = openDirectory(openDirectory(directory, "a/.git"), "hooks");
    expect(codeOf(() => writeText(hooks, "new", "NEW"))).toBe("not-permitted");
    expect(codeOf(() => hooks.replace("new", { create: true }))).toBe("not-permitted");
    writeText(directory, "a/.git/index", "NEW");
    expect(readFileSync(join(tree.root, "dotfiles/git/index"), "utf8")).toBe("NEW");
  });

  test.each([
    ["with letters that some file systems fold", ".\u017f\u017fh/config"],
    ["with the Kelvin sign", "home/.\u212ashrc"],
    ["with characters that some file systems ignore", ".g\u200cit/hooks/new"],
    ["in full-width letters", ".\uff53\uff53\uff48/config"],
    ["with a dot that some file systems drop", "home/.bashrc."],
    ["with spaces that some file systems drop", "home/.bashrc  "],
    ["as a short name", "git~1/hooks/new"],
    ["as a stream of NTFS", ".git::$INDEX_ALLOCATION/hooks/new"],
    ["in a subfolder of a monorepo", "packages/a/.vscode/settings.json"],
    ["in a submodule", "libs/b/.git/config"],
    ["by a pattern", "packages/a/my.code-workspace"],
    ["by a pattern, in another case", "packages/a/.YarnRC.yml"],
    ["that a trusted file includes", "packages/a/.envrc.local"],
    ["of Sandgate itself in another folder", "ci/release.policy-test.yaml"],
    ["that every Python of a user runs", "home/.local/lib/python3.13/site-packages/usercustomize.py"],
    ["of another program for version control", "libs/c/.hg/hgrc"],
    ["that names a build server", "packages/a/.bsp/build.json"],
  ])("a protected place is protected %s", (_how, path) => {
    mkdirSync(dirname(join(tree.root, path)), { recursive: true });
    const [directory] = tree.open();
    expect(codeOf(() => writeText(directory, path, "NEW"))).toBe("not-permitted");
  });

  test("a protected place cannot be prepared elsewhere and moved in", () => {
    mkdirSync(join(tree.root, "fresh"));
    const [directory] = tree.open();
    directory.createDirectory("fresh/g");
    directory.createDirectory("fresh/g/hooks");
    writeText(directory, "fresh/g/hooks/pre-commit", "NEW");
    expect(codeOf(() => directory.rename("fresh/g", directory, "fresh/.git"))).toBe("not-permitted");
    expect(codeOf(() => directory.rename("fresh/g", directory, "fresh/.GIT"))).toBe("not-permitted");
    expect(codeOf(() => directory.rename(".git", directory, "git"))).toBe("not-permitted");
    expect(codeOf(() => writeText(directory, "fresh/.git", "gitdir: g"))).toBe("not-permitted");
    expect(existsSync(join(tree.root, ".git/hooks/pre-commit"))).toBe(true);
  });

  test("a folder does not become a repository that git would take for one", () => {
    const [directory] = tree.open();
    for (const name of ["bare", "bare/objects", "bare/refs"]) directory.createDirectory(name);
    writeText(directory, "bare/config", "[core]\n\tfsmonitor = ./run");
    writeText(directory, "bare/HEAD.txt", "ref: refs/heads/main");
    expect(codeOf(() => writeText(directory, "bare/HEAD", "x"))).toBe("not-permitted");
    expect(codeOf(() => directory.rename("bare/HEAD.txt", directory, "bare/HEAD"))).toBe("not-permitted");
    expect(codeOf(() => directory.replace("bare/head", { create: true }))).toBe("not-permitted");
    directory.rename("bare/refs", directory, "bare/refs2");
    directory.rename("bare/HEAD.txt", directory, "bare/HEAD");
    expect(codeOf(() => directory.createDirectory("bare/refs"))).toBe("not-permitted");
    expect(codeOf(() => directory.rename("bare/refs2", directory, "bare/refs"))).toBe("not-permitted");
  });

  test("a folder does not become a repository by naming another one that git would read", () => {
    const [directory] = tree.open();
    for (const name of ["work", "common", "common/objects", "common/refs"]) directory.createDirectory(name);
    writeText(directory, "common/config", "[core]\n\tpager = ./run");
    writeText(directory, "work/commondir", "../common");
    expect(codeOf(() => writeText(directory, "work/HEAD", "x"))).toBe("not-permitted");
    directory.rename("work/commondir", directory, "work/other");
    writeText(directory, "work/HEAD", "ref: refs/heads/main");
    expect(codeOf(() => directory.rename("work/other", directory, "work/commondir"))).toBe("not-permitted");
  });

  test("what git runs in a repository of any name is protected, and the rest of it is not", () => {
    for (const path of [
      "lib.git/objects/a",
      "lib.git/refs/a",
      "lib.git/HEAD",
      "lib.git/config",
      "lib.git/hooks/a",
    ]) {
      mkdirSync(dirname(join(tree.root, path)), { recursive: true });
      writeFileSync(join(tree.root, path), "OLD");
    }
    const [directory] = tree.open();
    for (const path of ["HEAD", "config", "hooks/a", "hooks/new", "hooks/deep/new", "commondir", "modules"])
      expect(
        codeOf(() => writeText(directory, `lib.git/${path}`, "NEW")),
        path,
      ).toMatch(/^(not-permitted|no-entry)$/);
    expect(codeOf(() => directory.rename("lib.git/hooks", directory, "hooks"))).toBe("not-permitted");
    writeText(directory, "lib.git/refs/b", "NEW");
    writeText(directory, "config", "NEW");
    const [some] = tree.open({ writesProtected: ["lib.git/config"] });
    writeText(some, "lib.git/config", "NEW");
    expect(codeOf(() => writeText(some, "lib.git/hooks/a", "NEW"))).toBe("not-permitted");
  });

  test("an error says what is there, and what would allow the change", () => {
    const [directory] = tree.open();
    const messageOf = (path: string): string => {
      try {
        writeText(directory, path, "");
        return "";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(messageOf(".envrc")).toMatch(/read by shells .*: only a grant that names the place allows it/);
    expect(messageOf("AGENTS.md")).toMatch(/as instructions: a person has to be asked first/);
  });

  test("a protected place can be written if the grant opens it", () => {
    const [some] = tree.open({ writesProtected: [".vscode/settings.json", ".git"] });
    some.createDirectory(".vscode");
    writeText(some, ".vscode/settings.json", "NEW");
    writeText(some, ".git/config", "NEW");
    expect(codeOf(() => writeText(some, ".vscode/tasks.json", "NEW"))).toBe("not-permitted");
    const [all] = tree.open({ writesProtected: true });
    writeText(all, ".vscode/tasks.json", "NEW");
    expect(codeOf(() => all.createDirectory(".sandgate"))).toBe("not-permitted");
  });

  test("a protected place can be written if the grant names it", () => {
    const [hooks] = tree.open({ directory: join(tree.root, ".git/hooks") });
    writeText(hooks, "pre-commit", "NEW");
    hooks.rename("pre-commit", hooks, "post-commit");
    const [ssh] = tree.open({ directory: join(tree.root, ".ssh") });
    writeText(ssh, "config", "NEW");
    // A grant of .git names neither its hooks nor its configuration.
    const [git] = tree.open({ directory: join(tree.root, ".git") });
    writeText(git, "index", "NEW");
    expect(codeOf(() => writeText(git, "hooks/new", ""))).toBe("not-permitted");
    expect(codeOf(() => writeText(git, "config", ""))).toBe("not-permitted");
    expect(readFileSync(join(tree.root, ".git/hooks/post-commit"), "utf8")).toBe("NEW");
  });
});
