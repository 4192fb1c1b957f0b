import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
// Inside: counts what a walk could not read, and ends it at once; a tool says only that something is left out.
import { Pace } from "../../../src/toolsets/files/pace.ts";
import { noGaps, type WalkGaps, walkFiles } from "../../../src/toolsets/files/walk.ts";
import { Tree } from "./tree.ts";

async function walk({ files }: Tree, start = ".", gaps: WalkGaps = noGaps()): Promise<readonly string[]> {
  const pace = new Pace(new AbortController().signal, 60_000);
  const found: string[] = [];
  for await (const path of walkFiles(files, start, { pace, gaps })) found.push(path);
  return found;
}

describe("A walk", () => {
  test("finds hidden files, but nothing of .git", async () => {
    using tree = new Tree({
      ".env": "",
      ".github/a.yml": "",
      ".git/config": "",
      "a/.git": "",
      "a/b": "",
      ".ignore": "b",
    });
    expect(await walk(tree)).toEqual([".env", ".ignore", ".github/a.yml", "a/b"]);
  });

  test("can begin at a directory, whatever form its path has, or at a file", async () => {
    using tree = new Tree({ "a/b/c": "", "a/d": "", e: "" });
    expect(await walk(tree, "a")).toEqual(["a/d", "a/b/c"]);
    expect(await walk(tree, "./a//b/")).toEqual(["a/b/c"]);
    expect(await walk(tree, join(tree.root, "a/b"))).toEqual([join(tree.root, "a/b/c")]);
    expect(await walk(tree, "a/d")).toEqual(["a/d"]);
  });

  test("applies the rules of the directories above its beginning, and finds that even if they ignore it", async () => {
    using tree = new Tree({ ".gitignore": "*.log\n/a/\n", "a/x.log": "", "a/y": "" });
    expect(await walk(tree)).toEqual([".gitignore"]);
    expect(await walk(tree, "a")).toEqual(["a/y"]);
  });

  test("follows no links, and opens no FIFOs, devices and .gitignore that are no files", async () => {
    using tree = new Tree({ "a/b": "", rules: "*" });
    symlinkSync("..", join(tree.root, "a/loop"));
    symlinkSync("/etc", join(tree.root, "etc"));
    symlinkSync("../rules", join(tree.root, "a/.gitignore"));
    execFileSync("mkfifo", [join(tree.root, ".gitignore"), join(tree.root, "pipe")]);
    expect(await walk(tree)).toEqual(["rules", "a/b"]);
  });

  test("skips names that are not UTF-8", async () => {
    using tree = new Tree({ a: "" });
    writeFileSync(Buffer.concat([Buffer.from(`${tree.root}/`), Buffer.of(0xff, 0xfe)]), "");
    expect(await walk(tree)).toEqual(["a"]);
  });

  test("goes on where a directory is too deep or was not listed, and tells of it", async () => {
    using tree = new Tree({ z: "" });
    const deep = "d/".repeat(140);
    mkdirSync(join(tree.root, deep), { recursive: true });
    writeFileSync(join(tree.root, deep, "x"), "");
    const gaps = noGaps();
    expect(await walk(tree, ".", gaps)).toEqual(["z"]);
    expect(gaps.directories).toHaveLength(1);
  });

  test("tells of a .gitignore that is too large", async () => {
    using tree = new Tree({ "a/.gitignore": "b\n".repeat(1_200_000), "a/b": "" });
    const gaps = noGaps();
    expect(await walk(tree, ".", gaps)).toEqual(["a/.gitignore", "a/b"]);
    expect(gaps.ignoreFiles).toEqual(["a/.gitignore"]);
  });

  test("rejects if there is nothing at its beginning", async () => {
    using tree = new Tree();
    await expect(walk(tree, "a")).rejects.toThrow("Cannot stat 'a': no such file or directory");
    await expect(walk(tree, "../..")).rejects.toThrow("Path escapes workspace boundary");
  });

  test("ends when its signal is aborted, or its time is up", async () => {
    using tree = new Tree({ a: "", b: "" });
    const cancelled = new Pace(AbortSignal.abort(new Error("cancelled")), 60_000);
    const late = new Pace(new AbortController().signal, 0);
    await expect(walkFiles(tree.files, ".", { pace: cancelled, gaps: noGaps() }).next()).rejects.toThrow(
      "cancelled",
    );
    expect(await walkFiles(tree.files, ".", { pace: late, gaps: noGaps() }).next()).toMatchObject({
      done: true,
    });
    expect(late.hasEnded).toBe(true);
  });

  test("leaves room for other events", async () => {
    using tree = new Tree(
      Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${index}/a`, ""])),
    );
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    expect(await walk(tree)).toHaveLength(1_000);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});
