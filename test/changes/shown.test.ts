import { chmodSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
// Inside: measures the budget of diffs with files of 300,000 lines, none of which is on the disk.
import { DiffBudget, fileDiff } from "../../src/changes/file-diff.ts";
import { digestOfAll } from "../../src/changes/pending.ts";
import { ChangesTree } from "./changes-tree.ts";

describe("what is accepted is what was shown", () => {
  test("also of what is accepted with a change", async () => {
    await using tree = new ChangesTree({ "d/b.txt": "B\n" });
    const files = tree.files();
    await files.delete("d/b.txt");
    await files.delete("d");
    const [shown] = await tree.changes.pending("d");
    // Somebody writes a file there, and the session removes it as well.
    tree.write("d/new.txt", "of somebody else\n");
    await files.mkdir("d");
    await files.delete("d/new.txt");
    await files.delete("d");
    expect(await tree.changes.accept("d", { digest: shown?.digest ?? "" })).toEqual({
      accepted: [],
      conflicts: [{ path: "d", reason: "not-shown" }],
    });
    expect(tree.read("d/new.txt")).toBe("of somebody else\n");
  });

  test("also of a file that becomes the directory of a change", async () => {
    await using tree = new ChangesTree({ x: "a file\n" });
    const files = tree.files();
    await files.mkdir("d");
    await files.write("d/y.txt", "Y");
    const [, shown] = await tree.changes.pending();
    expect(shown?.path).toBe("d/y.txt");
    await files.delete("d/y.txt");
    await files.delete("d");
    tree.write("d", "meanwhile\n");
    await files.delete("d");
    await files.mkdir("d");
    await files.write("d/y.txt", "Y");
    expect((await tree.changes.accept("d/y.txt", { digest: shown?.digest ?? "" }))?.conflicts).toEqual([
      { path: "d/y.txt", reason: "not-shown" },
    ]);
    expect(tree.read("d")).toBe("meanwhile\n");
  });

  test("even while a call writes to a file that it has opened before", async () => {
    await using tree = new ChangesTree();
    await tree.files().write("a.txt", "shown\n");
    const contents = join(tree.root, ".sandgate/changes/session/contents");
    const [name] = readdirSync(contents);
    const fd = openSync(join(contents, name ?? ""), "r+");
    const shown = await tree.changes.pending();
    const texts = ["other\n", "shown\n"];
    let isDone = false;
    const toggling = (async () => {
      for (let i = 0; !isDone; i++) {
        writeSync(fd, texts[i % 2] ?? "", 0);
        await new Promise(setImmediate);
      }
    })();
    for (let i = 0; i < 50; i++) {
      const [change] = await tree.changes.pending();
      const isShown = change?.digest === shown[0]?.digest;
      expect(change?.diff.includes("+shown\n")).toBe(isShown);
    }
    const { accepted } = await tree.changes.acceptAll({ digest: digestOfAll(shown) });
    isDone = true;
    await toggling;
    if (accepted.length > 0) expect(tree.read("a.txt")).toBe("shown\n");
    else expect(tree.snapshot()).toEqual({});
  });
});

test("changes are listed while calls replace and undo them", async () => {
  await using tree = new ChangesTree();
  const files = tree.files();
  for (let i = 0; i < 30; i++) await files.write(`${i}.txt`, "x\n");
  const listing = tree.changes.pending();
  for (let i = 0; i < 30; i++) await (i % 2 ? files.write(`${i}.txt`, "y\n") : files.delete(`${i}.txt`));
  expect((await listing).length).toBeGreaterThanOrEqual(15);
  expect(await tree.changes.pending()).toHaveLength(15);
});

describe("showing changes is bounded", () => {
  test("in all: of many long files, the last ones are shown by their paths only", async () => {
    await using tree = new ChangesTree();
    const long = `${"x".repeat(1_000)}\n`.repeat(1_000);
    for (let i = 0; i < 20; i++) tree.write(`${String(i).padStart(2, "0")}.txt`, long);
    const files = tree.files();
    for (let i = 0; i < 20; i++) await files.delete(`${String(i).padStart(2, "0")}.txt`);
    const changes = await tree.changes.pending();
    expect(changes.filter(({ isOmitted }) => isOmitted).map(({ path }) => path)).toEqual([
      "17.txt",
      "18.txt",
      "19.txt",
    ]);
    expect(changes[19]?.diff).toMatch(/^File 19.txt differs. There are too many changes/);
    const [one] = await tree.changes.pending("19.txt");
    expect(one).toMatchObject({ digest: changes[19]?.digest });
    expect(one?.diff).toContain("-xxx");
    expect(await tree.changes.acceptAll({ digest: digestOfAll(changes) })).toMatchObject({ conflicts: [] });
  });

  test("of one file: many lines are compared for a few differences only", () => {
    const lines = (count: number, changed: number): Buffer =>
      Buffer.from(Array.from({ length: count }, (_, i) => (i < changed ? `${i}\n` : "\n")).join(""));
    expect(fileDiff("f", lines(300_000, 0), lines(300_000, 5)).length).toBeLessThan(200);
    expect(fileDiff("f", lines(300_000, 0), lines(300_000, 100))).toContain("@@ -1,300000 +1,300000 @@\n");
    expect(fileDiff("f", lines(300, 0), lines(300, 100))).not.toContain("@@ -1,300 +1,300 @@\n");
  });

  test("of files together: once the steps are used up, they are shown whole", () => {
    const budget = new DiffBudget();
    const [one, other] = ["a", "b"].map((name) =>
      Buffer.from(Array.from({ length: 600 }, (_, i) => `${name}${i}\n`).join("")),
    );
    const small = (): string =>
      fileDiff("f", Buffer.from("a\nb\nc\nd\ne\nf\n"), Buffer.from("a\nb\nc\nd\ne\nF\n"), budget);
    expect(small()).toContain("@@ -3,4 +3,4 @@");
    for (let i = 0; i < 40; i++) fileDiff("f", one, other, budget);
    expect(budget.steps).toBe(0);
    expect(small()).toContain("@@ -1,6 +1,6 @@\n-a\n");
  });
});

test("what was there before is there as it was if accepting fails", async () => {
  // Directories are removed in the reverse order of their paths.
  await using tree = new ChangesTree({ "d/b.txt": "B\n", "a/y.txt": "Y\n" });
  chmodSync(join(tree.root, "d"), 0o777);
  const files = tree.files();
  await files.delete("d/b.txt");
  await files.delete("d");
  await files.mkdir("n");
  await files.delete("a/y.txt");
  await files.delete("a");
  // Somebody creates an empty directory of the same name, and a file that no step expects.
  mkdirSync(join(tree.root, "n"));
  writeFileSync(join(tree.root, "a/other.txt"), "other\n");
  const before = tree.snapshot();
  expect((await tree.changes.acceptAll()).conflicts).toEqual([{ path: "a", reason: "not-empty" }]);
  expect(tree.snapshot()).toEqual(before);
  expect(statSync(join(tree.root, "d")).mode & 0o777).toBe(0o777);
});
