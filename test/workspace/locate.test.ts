import { afterAll, describe, expect, test } from "vitest";
import { locate } from "../../src/workspace/locate.ts";
import type { MountedDirectory } from "../../src/workspace/workspace.ts";
import { codeOf, GrantedTree } from "./granted-tree.ts";

const tree = new GrantedTree();
afterAll(() => tree[Symbol.dispose]());
const [directory] = tree.open();

/** The same directory, mounted at several paths. */
function mountedAt(...places: readonly string[]): readonly MountedDirectory[] {
  return places.map((at) => ({ at, directory }));
}

describe("locate", () => {
  test.each<[string, string, string]>([
    ["/data", "/data/a/b.txt", "a/b.txt"],
    ["/data", "/data", "."],
    ["/data", "/data/", "."],
    ["/data/", "/data/a", "a"],
    ["/data", "//data///a", "a"],
    ["/data", "/data/a/", "a/"],
    ["/", "/", "."],
    ["/", "/a/b", "a/b"],
    ["/data", "/data/../etc", "../etc"],
    ["/data", "/data/a/../../etc", "a/../../etc"],
  ])("in a directory at %s, the path %s leads to %s", (at, path, relative) => {
    expect(locate(mountedAt(at), path)).toEqual({ directory, path: relative });
  });

  test("a path is located in the most deeply mounted directory", () => {
    const other: MountedDirectory = { at: "/data/out", directory: tree.open()[0] };
    const directories = [other, ...mountedAt("/", "/data")];
    expect(locate(directories, "/data/out/a").directory).toBe(other.directory);
    expect(locate(directories, "/data/out/../a")).toEqual({ directory: other.directory, path: "../a" });
    expect(locate(directories, "/data/outer")).toEqual({ directory, path: "outer" });
    expect(locate(directories, "/b")).toEqual({ directory, path: "b" });
  });

  test.each<[string, string]>([
    ["", "invalid"],
    ["data/a", "invalid"],
    ["../data/a", "invalid"],
    ["/", "not-permitted"],
    ["/etc/passwd", "not-permitted"],
    ["/database", "not-permitted"],
    ["/x/../data/a", "not-permitted"],
    [`/data/${"x".repeat(5_000)}`, "name-too-long"],
  ])("a path in no granted directory is refused: %s", (path, code) => {
    expect(codeOf(() => locate(mountedAt("/data"), path))).toBe(code);
  });
});
