import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
// Inside: the disk fills up between two steps of accepting, which only a subclass of the places can time.
import { acceptRecords, recover } from "../../src/changes/accepting/accept.ts";
import { StagedChanges } from "../../src/changes/staged-changes.ts";
import { WorkspacePlaces } from "../../src/changes/workspace-places.ts";
import { HostFiles } from "../../src/sandboxes/host/files/host-files.ts";
import { WorkspaceError } from "../../src/workspace/error.ts";
import { StagedStore } from "../../src/workspace/staged/staged-store.ts";
import { ChangesTree, snapshotOf } from "./changes-tree.ts";

/** Only the superuser can mount a file system of its own for the tests. */
const canMount = process.getuid?.() === 0;

function mounted(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-full-")));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", root]);
  onTestFinished(() => {
    execFileSync("umount", ["-l", root]);
    rmSync(root, { recursive: true, force: true });
  });
  return root;
}

/** Takes all space that is left. */
function fill(root: string): void {
  const { bavail, bsize } = statfsSync(root);
  if (bavail > 0) writeFileSync(join(root, "filler"), Buffer.alloc(bavail * bsize, 1));
}

async function writeHeld(changes: StagedChanges, root: string, files: Readonly<Record<string, string>>) {
  const grants = [{ directory: root, write: true }];
  const disk = new HostFiles(grants);
  const held = changes.stage({ files: disk, grants, fileBytes: undefined });
  for (const [path, text] of Object.entries(files)) await held.files.write(path, text);
  held.end();
  disk.end();
}

test.runIf(canMount)("changes nothing if the disk is full, and accepts later", async () => {
  const root = mounted();
  writeFileSync(join(root, "a.txt"), "A\n");
  const changes = new StagedChanges(root, "session");
  await writeHeld(changes, root, { "a.txt": "new\n", "b.txt": "B\n" });
  fill(root);
  await expect(changes.acceptAll()).rejects.toThrow("no space is left");
  unlinkSync(join(root, "filler"));
  expect(snapshotOf(root)).toEqual({ "a.txt": "644 A\n" });
  expect(await changes.acceptAll()).toMatchObject({ accepted: ["a.txt", "b.txt"] });
  await changes.close();
});

/** The disk is filled when the file gets its new name, and a later step fails. */
class FillingPlaces extends WorkspacePlaces {
  override version(path: string): string | undefined {
    if (path !== "z.txt") return super.version(path);
    if (snapshotOf(this.workspace)["a.txt"]?.endsWith("new\n") !== true) return super.version(path);
    fill(this.workspace);
    return "other";
  }
}

test.runIf(canMount)("undoes what was done even if the disk became full meanwhile", async () => {
  const root = mounted();
  for (const path of ["a.txt", "z.txt"]) writeFileSync(join(root, path), "old\n");
  const before = snapshotOf(root);
  const changes = new StagedChanges(root, "session");
  await writeHeld(changes, root, { "a.txt": "new\n", "z.txt": "new\n" });
  const store = new StagedStore(join(root, ".sandgate/changes/session"));
  using places = new FillingPlaces(root);
  expect(await acceptRecords(places, store, store.all())).toBe("z.txt");
  unlinkSync(join(root, "filler"));
  expect(snapshotOf(root)).toEqual(before);
  expect(recover(places, store, true)).toBeUndefined();
  await changes.close();
});

test("what could not be undone is undone before anything is rejected", async () => {
  await using tree = new ChangesTree({ "a.txt": "A\n", "z.txt": "Z\n" });
  await tree.files().write("a.txt", "new\n");
  await tree.files().write("z.txt", "new\n");
  const store = new StagedStore(join(tree.root, ".sandgate/changes/session"));
  const before = tree.snapshot();
  class RefusingPlaces extends WorkspacePlaces {
    override version(path: string): string | undefined {
      const isBegun = tree.read("a.txt") === "new\n";
      return isBegun && path === "z.txt" ? "other" : super.version(path);
    }
    override identity(path: string): string | undefined {
      // Nothing can be undone.
      if (tree.read("a.txt") === "new\n") throw new WorkspaceError("io");
      return super.identity(path);
    }
  }
  using places = new RefusingPlaces(tree.root);
  await expect(acceptRecords(places, store, store.all())).rejects.toThrow("failed");
  expect(await tree.changes.rejectAll()).toEqual(["a.txt", "z.txt"]);
  expect(tree.snapshot()).toEqual(before);
  await tree.reopen();
  expect(tree.snapshot()).toEqual(before);
});
