import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { HostFiles } from "../../src/sandboxes/host/files/host-files.ts";
import type { WorkspaceFiles } from "../../src/tool/workspace-files.ts";
import { STAGED_LIMITS, StagedQuota } from "../../src/workspace/staged/staged-quota.ts";
import { ChangesTree, snapshotOf } from "./changes-tree.ts";

const START = { "a.txt": "A\n", "d/b.txt": "B\n", "d/e/c.txt": "C\n" };

test("the session sees its changes, and the disk does not", async () => {
  await using tree = new ChangesTree(START);
  const before = tree.snapshot();
  const files = tree.files();
  await files.write("a.txt", "new\n");
  await files.append("a.txt", "more\n");
  await files.patch("d/b.txt", "B", "$&");
  await files.mkdir("n");
  await files.write("n/x.txt", "X");
  await files.delete("d/e/c.txt");
  await files.rename("n/x.txt", "n/y.txt");

  const later = tree.files();
  expect(await later.read("a.txt")).toBe("new\nmore\n");
  expect(await later.read("d/b.txt")).toBe("$&\n");
  expect(await later.exists("d/e/c.txt")).toBe(false);
  expect(await later.list("n")).toEqual([{ name: "y.txt", kind: "file" }]);
  expect((await later.list(".")).map(({ name }) => name)).toEqual(["a.txt", "d", "n"]);
  expect(await later.stat("a.txt")).toMatchObject({ kind: "file", size: 9 });
  expect(tree.snapshot()).toEqual(before);
});

type Op = readonly ["write" | "append" | "patch" | "mkdir" | "delete" | "read" | "list" | "exists", string];
type Move = readonly ["rename", string, string];

const paths = fc.constantFrom(
  "a.txt",
  "d",
  "d/b.txt",
  "d/e",
  "d/e/c.txt",
  "n",
  "n/x",
  "l",
  "l/b.txt",
  "d/../a.txt",
  "n/../a.txt",
  "../out",
  "/etc/passwd",
  "f",
  ".git/config",
  "d/b.txt/x",
  ".",
);
const op: fc.Arbitrary<Op | Move> = fc.oneof(
  fc.tuple(
    fc.constantFrom("write", "append", "patch", "mkdir", "delete", "read", "list", "exists") as fc.Arbitrary<
      Op[0]
    >,
    paths,
  ),
  // Directories cannot be moved while changes are held.
  fc.tuple(fc.constant("rename" as const), fc.constantFrom("a.txt", "d/b.txt", "n/x", "l", "f"), paths),
);

async function run(files: WorkspaceFiles, [name, path, to]: Op | Move): Promise<unknown> {
  try {
    switch (name) {
      case "write":
      case "append":
        return await files[name](path, `${name}\n`);
      case "patch":
        return await files.patch(path, "write", "patched");
      case "rename":
        return await files.rename(path, to);
      default:
        return (await files[name](path)) ?? "done";
    }
  } catch (error) {
    return (error as Error).name;
  }
}

test("files with held changes behave as files on the disk do, and once accepted leave the same behind", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { maxLength: 25 }), async (ops) => {
      await using tree = new ChangesTree(START);
      const plain = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-plain-")));
      for (const [path, text] of Object.entries(START)) {
        mkdirSync(join(plain, path, ".."), { recursive: true });
        writeFileSync(join(plain, path), text);
      }
      for (const root of [tree.root, plain]) {
        symlinkSync("d", join(root, "l"));
        symlinkSync("a.txt", join(root, "f"));
      }
      const before = tree.snapshot();
      const disk = new HostFiles([{ directory: plain, write: true }]);
      try {
        const files = tree.files();
        for (const each of ops) {
          // Links can be removed while changes are held, but not moved.
          if (each[0] === "rename" && ["l", "f"].includes(each[1])) continue;
          if (each[0] === "rename" && ["l", "f", "d", "d/e", "n", "."].includes(each[2] ?? "")) continue;
          expect([each, await run(files, each)]).toEqual([each, await run(disk, each)]);
        }
        expect(tree.snapshot()).toEqual(before);
        expect(await tree.changes.acceptAll()).toMatchObject({ conflicts: [] });
        expect(tree.snapshot()).toEqual(snapshotOf(plain));
      } finally {
        disk.end();
        rmSync(plain, { recursive: true });
      }
    }),
    { numRuns: 60 },
  );
});

test("refuses what leads out, what a grant does not allow, and what lies outside of the workspace", async () => {
  await using tree = new ChangesTree(START);
  mkdirSync(join(tree.base, "outside"));
  mkdirSync(join(tree.root, ".git"));
  symlinkSync("../outside", join(tree.root, "out"));
  const files = tree.files();
  await expect(files.write("out/x", "")).rejects.toThrow("Path escapes workspace boundary");
  await expect(files.write("../x", "")).rejects.toThrow("Path escapes workspace boundary");
  await expect(files.write(".git/config", "")).rejects.toThrow("tells git which programs to run");
  await expect(files.write(".sandgate/x", "")).rejects.toThrow();
  await expect(files.read(".sandgate/.gitignore")).rejects.toThrow("no such file");
  const readOnly = tree.files([{ directory: tree.root }]);
  await expect(readOnly.write("a.txt", "")).rejects.toThrow("read-only");
  const outside = tree.files([{ directory: join(tree.base, "outside"), write: true }]);
  await expect(outside.write("x", "")).rejects.toThrow("read-only");
  const limited = tree.files(undefined, 3);
  await expect(limited.write("a.txt", "four")).rejects.toThrow("limit for writing");
  expect(await tree.changes.pending()).toEqual([]);
});

test("holds the changes of a file that was granted alone", async () => {
  await using tree = new ChangesTree(START);
  const file = join(tree.root, "d/b.txt");
  const files = tree.files([{ file, write: true }]);
  await files.write("b.txt", "other\n");
  expect(await files.read("b.txt")).toBe("other\n");
  expect(tree.read("d/b.txt")).toBe("B\n");
  await expect(files.read("e/c.txt")).rejects.toThrow("Path escapes workspace boundary");
});

test("counts held bytes and entries against the limits of the session and of all sessions", () => {
  const all = new StagedQuota({ bytes: 100, entries: 3 });
  const [one, other] = [
    new StagedQuota({ bytes: 60, entries: 2 }, all),
    new StagedQuota({ bytes: 60, entries: 2 }, all),
  ];
  one.acquire(60, 1);
  expect(() => one.acquire(1, 0)).toThrow("too many changes wait");
  expect(() => other.acquire(50, 0)).toThrow("too many changes wait");
  other.acquire(40, 2);
  expect(() => one.acquire(0, 1)).toThrow("too many changes wait");
  other.clear();
  one.acquire(0, 1);
  expect(STAGED_LIMITS.session.bytes).toBeLessThan(STAGED_LIMITS.all.bytes);
});

test("gives back the room of what is replaced, accepted and rejected", async () => {
  const all = new StagedQuota({ bytes: 100, entries: 2 });
  await using tree = new ChangesTree(START);
  const { StagedChanges } = await import("../../src/changes/staged-changes.ts");
  const changes = new StagedChanges(tree.root, "other", all);
  const grants = [{ directory: tree.root, write: true }];
  const disk = new HostFiles(grants);
  const { files, end } = changes.stage({ files: disk, grants, fileBytes: undefined });
  for (let round = 0; round < 5; round++) await files.write("a.txt", "x".repeat(50));
  await files.write("new.txt", "y".repeat(50));
  await expect(files.write("third.txt", "")).rejects.toThrow("too many changes wait");
  await changes.acceptAll();
  await files.write("third.txt", "z".repeat(100));
  expect(await changes.reject("third.txt")).toEqual(["third.txt"]);
  await files.write("fourth.txt", "z".repeat(100));
  await changes.rejectAll();
  all.acquire(100, 2);
  end();
  disk.end();
  await changes.close();
});

test("keeps what is held when the process ends", async () => {
  await using tree = new ChangesTree(START);
  await tree.files().write("a.txt", "kept\n");
  await tree.reopen();
  expect(await tree.files().read("a.txt")).toBe("kept\n");
  expect((await tree.changes.pending()).map(({ path }) => path)).toEqual(["a.txt"]);
});
