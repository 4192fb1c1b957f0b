import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { PathResolver, ResolvedPath } from "../../src/workspace/resolve-path.ts";
import { DirectoryGrantError } from "../../src/workspace/root.ts";
import { GrantedTree } from "./granted-tree.ts";

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
  symlinkSync("a/b", join(tree.root, "deep"));
  symlinkSync("../outside", join(tree.root, "out"));
  symlinkSync("../../outside/secret.txt", join(tree.root, "a/secret"));
  symlinkSync("/etc/passwd", join(tree.root, "absolute"));
  symlinkSync("missing.txt", join(tree.root, "dangling"));
  symlinkSync("loop", join(tree.root, "loop"));
});

/** Where a path leads: relative to the root, `escapes`, or a text that says what is wrong. */
function resolve(path: string, directory: string = tree.root): string {
  using resolver = new PathResolver(directory);
  const resolved = resolver.resolve(path);
  if (resolved instanceof ResolvedPath) return resolved.path;
  return resolved === "escapes" ? resolved : `problem: ${resolved.problem}`;
}

describe.skipIf(!workspaceIsSupported())("A path", () => {
  test.each([
    ["ok.txt", "ok.txt"],
    ["", "."],
    [".", "."],
    ["a/../ok.txt", "ok.txt"],
    ["a//b/./..", "a"],
    ["a/new.txt", "a/new.txt"],
    ["new/deep/file.txt", "new/deep/file.txt"],
    ["new/../ok.txt", "ok.txt"],
    ["ok.txt/below", "ok.txt/below"],
    ["deep/../in.txt", "a/in.txt"],
    ["dangling", "missing.txt"],
    ["deep/new/../../x", "a/x"],
    ["new/../deep/x", "a/b/x"],
    ["ok.txt/../dangling", "missing.txt"],
  ])("that stays in the directory leads there: '%s'", (path, expected) => {
    expect(resolve(path)).toBe(expected);
  });

  test.each([
    "..",
    "../outside/secret.txt",
    "a/../../outside",
    "a/b/../../../root/ok.txt",
    "out/secret.txt",
    "out/../root/ok.txt",
    "a/secret",
    "absolute",
    "deep/../../..",
    "new/../../x",
    "deep/../../ok.txt",
    "deep/../out/secret.txt",
    "new/../out/secret.txt",
    "new/below/../../a/secret",
    "ok.txt/../out/secret.txt",
    "new/../a/../../etc/passwd",
    "ok.txt/../../x",
    "deep/new/../../../../x",
    "/etc/passwd",
    "/",
  ])("that leads out is found: '%s'", (path) => {
    expect(resolve(path)).toBe("escapes");
  });

  test("is taken as absolute only in the directory, not beside it", () => {
    mkdirSync(`${tree.root}-evil`);
    expect(resolve(join(tree.root, "a/in.txt"))).toBe("a/in.txt");
    expect(resolve(`${tree.root}/`)).toBe(".");
    expect(resolve(`${tree.root}/../outside/secret.txt`)).toBe("escapes");
    expect(resolve(`${tree.root}-evil/x`)).toBe("escapes");
    expect(resolve(tree.outside)).toBe("escapes");
  });

  test.each([
    ["a\0b", "problem: the path contains invalid characters"],
    ["a\\..\\..\\b", "problem: the path contains invalid characters"],
    ["\ud800", "problem: the path contains invalid characters"],
    ["a".repeat(256), "problem: the path is too long or too deep"],
    ["a/".repeat(3_000), "problem: the path is too long or too deep"],
    ["loop", "problem: the path is a link, or leads through too many links"],
  ])("that no file can have has a problem", (path, problem) => {
    expect(resolve(path)).toBe(problem);
  });

  test("leads, whatever it is, to a place that it could have been opened at, or nowhere", () => {
    const names = fc.constantFrom(
      "..",
      ".",
      "a",
      "b",
      "deep",
      "out",
      "new",
      "ok.txt",
      "absolute",
      "dangling",
    );
    fc.assert(
      fc.property(fc.array(names, { maxLength: 8 }), (segments) => {
        const resolved = resolve(segments.join("/"));
        if (resolved === "escapes" || resolved.startsWith("problem")) return;
        expect(resolved.split("/")).not.toContain("..");
        // It is without links: where it leads does not change if it is resolved again.
        expect(resolve(resolved)).toBe(resolved);
      }),
      { numRuns: 300 },
    );
    tree.expectUntouchedOutside();
  });
});

describe.skipIf(!workspaceIsSupported())("A protected place", () => {
  const isProtected = (path: string, named: string = tree.root): boolean => {
    using resolver = new PathResolver(tree.root);
    const resolved = resolver.resolve(path);
    if (!(resolved instanceof ResolvedPath)) throw new Error("the path does not lead anywhere");
    const names = resolved.isIn(named) ? named.split("/").filter(Boolean) : [];
    return resolved.protectedPlaces({ named: names }).length > 0;
  };

  test("is found by its names, existing or not, and through links", () => {
    mkdirSync(join(tree.root, ".git"));
    symlinkSync(".git", join(tree.root, "git"));
    writeFileSync(join(tree.root, ".git/HEAD"), "");
    expect(isProtected(".git/hooks/pre-commit")).toBe(true);
    expect(isProtected("git/hooks/pre-commit")).toBe(true);
    expect(isProtected(".ssh/authorized_keys")).toBe(true);
    expect(isProtected("a/../.bashrc")).toBe(true);
    expect(isProtected(".git/HEAD")).toBe(false);
    expect(isProtected("a/in.txt")).toBe(false);
  });

  test("is not protected from a grant that names it", () => {
    expect(isProtected(".git/hooks/pre-commit", join(tree.root, ".git/hooks"))).toBe(false);
    expect(isProtected(".git/hooks/pre-commit", join(tree.root, "a"))).toBe(true);
  });
});

test.skipIf(!workspaceIsSupported())("a directory that could not be granted is refused", () => {
  symlinkSync(tree.root, join(tree.base, "link"));
  expect(() => new PathResolver(join(tree.base, "link"))).toThrow(DirectoryGrantError);
  expect(() => new PathResolver(join(tree.base, "missing"))).toThrow(DirectoryGrantError);
});
