import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
// Inside: compares many pairs of contents, without a workspace for each.
import { fileDiff } from "../../src/changes/file-diff.ts";
import { ChangesTree } from "./changes-tree.ts";

const START = { "a.txt": "A\n", "d/b.txt": "B\n", "z.txt": "Z\n" };

/** What somebody else does to `d/b.txt` or its place meanwhile, and the conflict that it makes. */
const MEANWHILE: readonly (readonly [string, (root: string) => void, string])[] = [
  ["changes it", (root) => writeFileSync(join(root, "d/b.txt"), "other\n"), "changed"],
  ["removes it", (root) => rmSync(join(root, "d/b.txt")), "deleted"],
  [
    "puts a link in its place",
    (root) => {
      rmSync(join(root, "d/b.txt"));
      symlinkSync("../../target", join(root, "d/b.txt"));
    },
    "replaced",
  ],
  [
    "puts a directory in its place",
    (root) => {
      rmSync(join(root, "d/b.txt"));
      mkdirSync(join(root, "d/b.txt"));
    },
    "replaced",
  ],
  [
    "puts a link in the place of its directory",
    (root) => {
      renameSync(join(root, "d"), join(root, "e"));
      symlinkSync("e", join(root, "d"));
    },
    "unreachable",
  ],
  ["creates what is new", (root) => writeFileSync(join(root, "new.txt"), "N"), "created"],
];

describe("accepts nothing, and follows no link, if somebody meanwhile", () => {
  test.each(MEANWHILE)("%s", async (_, act, reason) => {
    await using tree = new ChangesTree(START);
    writeFileSync(join(tree.base, "target"), "outside\n");
    const files = tree.files();
    await files.write("a.txt", "mine\n");
    await files.write("d/b.txt", "mine\n");
    await files.write("new.txt", "mine\n");
    await files.delete("z.txt");
    act(tree.root);
    const before = tree.snapshot();
    const { accepted, conflicts } = await tree.changes.acceptAll();
    expect(accepted).toEqual([]);
    expect(conflicts).toEqual([{ path: reason === "created" ? "new.txt" : "d/b.txt", reason }]);
    expect(tree.snapshot()).toEqual(before);
    expect((await tree.changes.pending()).map(({ conflict }) => conflict)).toContain(reason);
    // Without the change in conflict, the others are accepted.
    await tree.changes.reject(conflicts[0]?.path ?? "");
    expect((await tree.changes.acceptAll()).conflicts).toEqual([]);
    expect(tree.read("a.txt")).toBe("mine\n");
  });
});

test("a directory that is removed with its files must have no others", async () => {
  await using tree = new ChangesTree(START);
  const files = tree.files();
  await files.write("a.txt", "mine\n");
  await files.delete("d/b.txt");
  await files.delete("d");
  writeFileSync(join(tree.root, "d/new.txt"), "N");
  const before = tree.snapshot();
  expect(await tree.changes.acceptAll()).toEqual({
    accepted: [],
    conflicts: [{ path: "d", reason: "not-empty" }],
  });
  expect(tree.snapshot()).toEqual(before);
});

test("undoes what was done when the system refuses a later step", async () => {
  await using tree = new ChangesTree(START);
  const files = tree.files();
  await files.write("a.txt", "mine\n");
  await files.write("d/b.txt", "mine\n");
  const before = tree.snapshot();
  // Inside: somebody changes a file between two steps of accepting, which only a subclass of the places can time.
  const { acceptRecords } = await import("../../src/changes/accepting/accept.ts");
  const { WorkspacePlaces } = await import("../../src/changes/workspace-places.ts");
  const { StagedStore } = await import("../../src/workspace/staged/staged-store.ts");
  const store = new StagedStore(join(tree.root, ".sandgate/changes/session"));
  class FailingPlaces extends WorkspacePlaces {
    renames = 0;
    override version(path: string): string | undefined {
      // Somebody changes the second file just before it gets its new contents.
      if (path === "d/b.txt" && tree.read("a.txt") === "mine\n") return "other";
      return super.version(path);
    }
  }
  using places = new FailingPlaces(tree.root);
  expect(await acceptRecords(places, store, store.all())).toBe("d/b.txt");
  expect(tree.snapshot()).toEqual(before);
  expect(await tree.changes.pending()).toHaveLength(2);
});

test("keeps permissions, and accepts one file with the directories that it needs", async () => {
  await using tree = new ChangesTree(START);
  chmodSync(join(tree.root, "a.txt"), 0o750);
  const files = tree.files();
  await files.write("a.txt", "mine\n");
  await files.mkdir("n");
  await files.write("n/x.txt", "X");
  await files.write("n/y.txt", "Y");
  expect((await tree.changes.accept("n/x.txt"))?.accepted).toEqual(["n", "n/x.txt"]);
  expect(existsSync(join(tree.root, "n/y.txt"))).toBe(false);
  await tree.changes.accept("a.txt");
  expect(statSync(join(tree.root, "a.txt")).mode & 0o777).toBe(0o750);
  expect(await tree.changes.accept("nothing.txt")).toBeUndefined();
  expect(await tree.changes.reject("nothing.txt")).toEqual([]);
});

describe("a diff", () => {
  test("shows what is created, changed and deleted, even without a final line break", () => {
    const [one, two] = [Buffer.from("a\nb\n"), Buffer.from("a\nc")];
    expect(fileDiff("f", one, two)).toBe(
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
    );
    expect(fileDiff("f", undefined, one)).toContain("--- /dev/null\n+++ b/f\n");
    expect(fileDiff("f", one, undefined)).toContain("--- a/f\n+++ /dev/null\n");
  });

  test("says that a file is binary or long, and shows whole files that differ in most lines", () => {
    expect(fileDiff("f", Buffer.from([0]), Buffer.from("x"))).toBe("Binary files a/f and b/f differ\n");
    expect(fileDiff("f", 2_000_000, Buffer.from("x"))).toBe("Long files a/f and b/f differ\n");
    const lines = (sign: string): string => Array.from({ length: 3_000 }, (_, i) => `${sign}${i}\n`).join("");
    const diff = fileDiff("f", Buffer.from(lines("x")), Buffer.from(lines("y")));
    expect(diff.split("\n").length).toBe(3 + 6_000 + 1);
    expect(diff).toContain("@@ -1,3000 +1,3000 @@\n-x0\n");
  });

  test("quotes a name that could pass for a line of it", () => {
    expect(fileDiff("f\n+++ b/g", undefined, Buffer.from("x\n"))).toContain('+++ "b/f\\n+++ b/g"\n');
  });
});
