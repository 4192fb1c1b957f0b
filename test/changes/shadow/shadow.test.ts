import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
// Inside: leaves a merge half done with places that refuse to sync, which a real disk does not do on request.
import { acceptRecords } from "../../../src/changes/accepting/accept.ts";
import { ownFolder } from "../../../src/changes/own-folder.ts";
import { ShadowTree } from "../../../src/changes/shadow.ts";
import { WorkspacePlaces } from "../../../src/changes/workspace-places.ts";
import { WorkspaceError } from "../../../src/workspace/error.ts";
import type { StagedRecord } from "../../../src/workspace/staged/staged-record.ts";
import { StagedStore } from "../../../src/workspace/staged/staged-store.ts";
import { ChangesTree } from "../changes-tree.ts";

function tree(files: Readonly<Record<string, string>> = { "a.txt": "A\n", "d/b.txt": "B\n" }): ChangesTree {
  const made = new ChangesTree(files);
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

/** Puts a link and the real thing in one place in turn, until the action ends. */
async function flipping<Result>(place: string, target: string, act: () => Promise<Result>): Promise<Result> {
  let isDone = false;
  const flips = (async () => {
    while (!isDone) {
      renameSync(place, `${place}.real`);
      symlinkSync(target, place);
      await setImmediate();
      // Neither keeps step with the other.
      if (Math.random() < 0.5) await setImmediate();
      unlinkSync(place);
      renameSync(`${place}.real`, place);
      await setImmediate();
    }
  })();
  try {
    return await act();
  } finally {
    isDone = true;
    await flips;
  }
}

/** The texts of all files of a directory, without following links. */
function textsIn(directory: string): string {
  return readdirSync(directory, { withFileTypes: true })
    .map((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? textsIn(path) : entry.isFile() ? readFileSync(path, "utf8") : "";
    })
    .join();
}

test("does not copy what a link leads to that is put there meanwhile", async () => {
  const others = Array.from({ length: 400 }, (_, i) => [`y${i % 4}/${i}`, "x"]);
  const { root, base } = tree({ "z/b": "B", ...Object.fromEntries(others) });
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/b"), "secret");
  await flipping(join(root, "z"), join(base, "outside"), async () => {
    for (let i = 0; i < 8; i++) {
      const shadow = await ShadowTree.open(root, `t${i}`).catch(() => undefined);
      if (shadow === undefined) continue;
      expect(textsIn(shadow.directory)).not.toContain("secret");
      shadow.discard();
    }
  });
});

test("does not merge what a link leads to that is put there meanwhile", async () => {
  const { root, base } = tree();
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/b.txt"), "secret");
  const shadow = await ShadowTree.open(root, "task");
  writeFileSync(join(shadow.directory, "d/b.txt"), "changed");
  await flipping(join(shadow.directory, "d"), join(base, "outside"), async () => {
    for (let i = 0; i < 30; i++) {
      const changes = await shadow.pending().catch(() => []);
      expect(JSON.stringify(changes)).not.toContain("secret");
    }
  });
});

test("what comes with the workspace in the place of shadows leads nowhere", async () => {
  const { root, base } = tree();
  mkdirSync(join(base, "outside/task"), { recursive: true });
  writeFileSync(join(base, "outside/task/kept"), "kept");
  symlinkSync(join(base, "outside"), join(root, ".sandgate/shadows"));
  await expect(ShadowTree.open(root, "task")).rejects.toThrow();
  writeFileSync(join(base, "outside/task.json"), "[]");
  await expect(ShadowTree.open(root, "task")).rejects.toThrow();
  expect(readFileSync(join(base, "outside/task/kept"), "utf8")).toBe("kept");
});

test("a base that Sandgate has not written is none", async () => {
  const { root } = tree();
  for (const text of ["{", "[[1]]", '[["../x",{"kind":"directory"}]]', '[["x",{"kind":"y"}]]']) {
    mkdirSync(join(root, ".sandgate/shadows/task"), { recursive: true });
    writeFileSync(join(root, ".sandgate/shadows/task/planted"), "");
    writeFileSync(join(root, ".sandgate/shadows/task.json"), text);
    const shadow = await ShadowTree.open(root, "task");
    expect(existsSync(join(shadow.directory, "planted"))).toBe(false);
    expect(readFileSync(join(shadow.directory, "a.txt"), "utf8")).toBe("A\n");
    shadow.discard();
  }
});

test("what is done at the same time with one shadow is done one after the other", async () => {
  const { root } = tree();
  const shadow = await ShadowTree.open(root, "task");
  const again = await ShadowTree.open(root, "task");
  for (let i = 0; i < 20; i++) writeFileSync(join(shadow.directory, `${i}.txt`), "new\n");
  const [merged, listed] = await Promise.all([shadow.merge(), again.pending(), shadow.pending()]);
  expect(merged.accepted).toHaveLength(20);
  expect(listed).toEqual([]);
});

test("shadows and sessions do not share a folder, whatever their names", async () => {
  const { root } = tree();
  const [one, other] = await Promise.all(
    ["a", "b"].map((end) => ShadowTree.open(root, "t".repeat(63) + end)),
  );
  writeFileSync(join(one?.directory ?? "", "one.txt"), "1");
  writeFileSync(join(other?.directory ?? "", "other.txt"), "2");
  const pending = await Promise.all([one?.pending(), other?.pending(), one?.pending()]);
  expect(pending.map((changes) => changes?.map(({ path }) => path))).toEqual([
    ["one.txt"],
    ["other.txt"],
    ["one.txt"],
  ]);
});

test("a merge that could not be undone is ended first, and not forgotten", async () => {
  const { root } = tree();
  const shadow = await ShadowTree.open(root, "task");
  writeFileSync(join(shadow.directory, "a.txt"), "new\n");
  writeFileSync(join(shadow.directory, "d/b.txt"), "new\n");
  const store = new StagedStore(ownFolder(root, "changes", "+task"));
  class RefusingPlaces extends WorkspacePlaces {
    override sync(): void {
      if (readFileSync(join(root, "a.txt"), "utf8") === "new\n") throw new WorkspaceError("io");
    }
    override identity(path: string): string | undefined {
      this.sync();
      return super.identity(path);
    }
  }
  using places = new RefusingPlaces(root);
  const content = store.newContent();
  writeFileSync(join(store.contents, content), "new\n");
  const sha256 = createHash("sha256").update("A\n").digest("hex");
  const record: StagedRecord = {
    path: "a.txt",
    was: { kind: "file", sha256, bytes: 2 },
    now: { kind: "file", content },
  };
  await expect(acceptRecords(places, store, [record])).rejects.toThrow("failed");
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new\n");
  const { accepted, conflicts } = await shadow.merge();
  expect(conflicts).toEqual([]);
  expect(accepted).toEqual(["a.txt", "d/b.txt"]);
  expect(readdirSync(root).sort()).toEqual([".sandgate", "a.txt", "d"]);
});

test("the same change in both places is not a conflict", async () => {
  const { root } = tree();
  const shadow = await ShadowTree.open(root, "task");
  for (const place of [root, shadow.directory]) {
    writeFileSync(join(place, "a.txt"), "same\n");
    rmSync(join(place, "d"), { recursive: true });
    mkdirSync(join(place, "n"));
  }
  writeFileSync(join(shadow.directory, "n/x"), "X");
  expect(await shadow.merge()).toEqual({ accepted: ["n/x"], conflicts: [] });
});

test("links of the workspace are copied as links", async () => {
  const { root } = tree();
  symlinkSync("/etc/passwd", join(root, "link"));
  const shadow = await ShadowTree.open(root, "task");
  expect(readlinkSync(join(shadow.directory, "link"))).toBe("/etc/passwd");
  expect(await shadow.pending()).toEqual([]);
});
