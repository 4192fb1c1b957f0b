import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDirectory } from "../../../src/workspace/entries.ts";
import { WORKSPACE_ERROR_CODES } from "../../../src/workspace/error.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { ATTEMPTS, codeOf, GrantedTree, readText, writeText } from "../granted-tree.ts";

const isHere = workspaceIsSupported();
if (!isHere) console.log("workspace: not tested, directories can be granted on Linux only");

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
});
afterEach(() => tree[Symbol.dispose]());

describe.runIf(isHere)("PathWalk", () => {
  test.each(ATTEMPTS)("a path does not lead out of the directory: %s", (_, attempt) => {
    symlinkSync("../outside", join(tree.root, "d"));
    symlinkSync(tree.outside, join(tree.root, "absolute"));
    symlinkSync("a/../../outside", join(tree.root, "up"));
    symlinkSync("/proc/self/root", join(tree.root, "magic"));
    const [directory] = tree.open();
    for (const way of [
      "../outside",
      tree.outside,
      "d",
      "absolute",
      "up",
      `magic${tree.outside}`,
      "d/../../outside",
      "a/../..",
    ]) {
      for (const name of ["secret.txt", "new", "new/sub"]) {
        expect(codeOf(() => attempt(directory, `${way}/${name}`))).toBe("not-permitted");
      }
    }
    tree.expectUntouchedOutside();
  });

  test("a path does not lead out of an open directory, even if it stays in the granted one", () => {
    const [directory] = tree.open();
    for (const [, attempt] of ATTEMPTS) {
      expect(codeOf(() => attempt(openDirectory(directory, "a"), "../ok.txt"))).toBe("not-permitted");
    }
    expect(readText(openDirectory(directory, "a"), "b/../in.txt")).toBe("IN");
  });

  test.each(
    ATTEMPTS,
  )("a path that ends in a link to the outside does not affect its target: %s", (name, attempt) => {
    symlinkSync("../outside/secret.txt", join(tree.root, "l"));
    symlinkSync("../outside/new.txt", join(tree.root, "dangling"));
    symlinkSync("../outside", join(tree.root, "d"));
    const [directory] = tree.open();
    const results = ["l", "dangling", "d"].map((path) => codeOf(() => attempt(directory, path)));
    // These operate on the link itself.
    const actsOnLink = name === "remove" || name.startsWith("rename");
    if (!actsOnLink) expect(results.filter((code) => typeof code !== "string")).toEqual([]);
    tree.expectUntouchedOutside();
  });

  test("a path leads through links that stay inside, and their targets can be read", () => {
    symlinkSync("a/in.txt", join(tree.root, "in"));
    symlinkSync("a", join(tree.root, "d"));
    symlinkSync("../ok.txt", join(tree.root, "a/back"));
    symlinkSync("in", join(tree.root, "chain"));
    symlinkSync("a/new.txt", join(tree.root, "dangling"));
    symlinkSync(tree.outside, join(tree.root, "absolute"));
    const [directory] = tree.open();
    expect(
      ["in", "chain", "d/in.txt", "d/back", "d/b/../../ok.txt"].map((path) => readText(directory, path)),
    ).toEqual(["IN", "IN", "IN", "OK", "OK"]);
    writeText(directory, "dangling", "new");
    expect(readFileSync(join(tree.root, "a/new.txt"), "utf8")).toBe("new");
    expect(directory.readLink("in")).toBe("a/in.txt");
    expect(codeOf(() => directory.readLink("absolute"))).toBe("not-permitted");
    expect(codeOf(() => directory.readLink("ok.txt"))).toBe("invalid");
    expect(codeOf(() => directory.open("in", { read: true }))).toBe("loop");
    expect(directory.stat("in")).toMatchObject({ kind: "symbolic-link" });
    expect(directory.stat("in", { follow: true })).toMatchObject({ kind: "regular-file" });
  });

  test("a path that is circular or too deep is refused", () => {
    symlinkSync("y", join(tree.root, "x"));
    symlinkSync("x", join(tree.root, "y"));
    symlinkSync("deep/deep", join(tree.root, "deep"));
    const [directory] = tree.open();
    expect(codeOf(() => readText(directory, "x"))).toBe("loop");
    expect(codeOf(() => readText(directory, "x/f"))).toBe("loop");
    expect(codeOf(() => readText(directory, "deep/f"))).toBe("loop");
    const levels = Array.from({ length: 140 }, () => "n");
    mkdirSync(join(tree.root, ...levels), { recursive: true });
    expect(directory.stat(levels.slice(0, 100).join("/"))).toMatchObject({ kind: "directory" });
    expect(codeOf(() => directory.stat(levels.join("/")))).toBe("name-too-long");
  });

  test.each([
    ["empty", "", "no-entry"],
    ["absolute", "/ok.txt", "not-permitted"],
    ["one with NUL", "ok.txt\0.png", "illegal-byte-sequence"],
    ["one with a backslash", "a\\in.txt", "illegal-byte-sequence"],
    ["one with a lone surrogate", "\ud800", "illegal-byte-sequence"],
    ["one with a long name", "é".repeat(128), "name-too-long"],
    ["long", "a/".repeat(2_048), "name-too-long"],
    ["only slashes", "/".repeat(1_000_000), "name-too-long"],
    ["one through a file", "ok.txt/x", "not-directory"],
    ["a file with a trailing slash", "ok.txt/", "not-directory"],
  ])("a path that is %s is refused", (_, path, code) => {
    const [directory] = tree.open();
    expect(codeOf(() => readText(directory, path))).toBe(code);
    expect(typeof codeOf(() => directory.createDirectory(path))).toBe("string");
  });

  test("a path of arbitrary characters does not lead outside, and fails with a known code", () => {
    mkdirSync(join(tree.root, "w/w/w"), { recursive: true });
    symlinkSync("../../outside", join(tree.root, "w/out"));
    symlinkSync("../..", join(tree.root, "w/up"));
    const [directory] = tree.open();
    const inner = openDirectory(directory, "w");
    const segment = fc.oneof(
      fc.constantFrom(
        "..",
        ".",
        "",
        "w",
        "up",
        "out",
        "root",
        "outside",
        "secret.txt",
        tree.base,
        "\\",
        "\0",
      ),
      fc.string({ unit: "binary", maxLength: 4 }),
    );
    const path = fc.array(segment, { minLength: 1, maxLength: 8 }).map((segments) => segments.join("/"));
    fc.assert(
      fc.property(path, fc.constantFrom(...ATTEMPTS), (somewhere, [, attempt]) => {
        const code = codeOf(() => attempt(inner, somewhere));
        if (typeof code === "string") expect(WORKSPACE_ERROR_CODES).toContain(code);
        expect(readFileSync(join(tree.outside, "secret.txt"), "utf8")).toBe("CANARY");
        expect(readFileSync(join(tree.root, "ok.txt"), "utf8")).toBe("OK");
      }),
      { numRuns: 300 },
    );
    tree.expectUntouchedOutside();
  });
});
