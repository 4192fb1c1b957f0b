import { existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { guardFiles } from "../../../src/base/guarded-files.ts";
import { coverOf } from "../../../src/workspace/guarded-watch.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { codeOf, GrantedTree, readText, writeText } from "../granted-tree.ts";

let tree: GrantedTree;
const at = (path: string): string => join(tree.root, path);

/** A config and a token that are reached through several links, as those of releases and of Kubernetes are. */
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
  for (const folder of ["releases/5", "fake"]) mkdirSync(at(folder), { recursive: true });
  writeFileSync(at("releases/5/config.yaml"), "OWN");
  writeFileSync(at("releases/5/token"), "OWN");
  symlinkSync("releases/5", at("current"));
  symlinkSync(at("current"), at("latest"));
  for (const name of ["config.yaml", "token", "later"])
    symlinkSync(join(at("latest"), name), join(tree.outside, name));
  onTestFinished(
    guardFiles([
      { path: join(tree.outside, "config.yaml"), access: "read" },
      { path: join(tree.outside, "token") },
      { path: join(tree.outside, "later") },
    ]),
  );
});

describe.skipIf(!workspaceIsSupported())("What is guarded through links", () => {
  test.each(["current", "latest"])("cannot be replaced by replacing the link '%s'", (link) => {
    const [directory] = tree.open();
    for (const attempt of [
      () => directory.removeFile(link),
      () => directory.rename(link, directory, "moved"),
      () => directory.rename("fake", directory, link),
      () => directory.createDirectory(link),
      () => writeText(directory, `${link}/config.yaml`, "NEW"),
    ])
      expect(codeOf(attempt)).toMatch(/^(not-permitted|read-only|exist)$/);
    expect(existsSync(at("fake"))).toBe(true);
    expect(readlinkSync(at(link))).toBe(link === "latest" ? at("current") : "releases/5");
    expect(readFileSync(at("releases/5/config.yaml"), "utf8")).toBe("OWN");
  });

  test("is guarded where it is, even if it does not exist yet", () => {
    const [directory] = tree.open();
    expect(codeOf(() => readText(directory, "current/token"))).toBe("not-permitted");
    expect(codeOf(() => writeText(directory, "releases/5/later", "NEW"))).toBe("not-permitted");
    expect(readText(directory, "current/config.yaml")).toBe("OWN");
  });

  test("keeps programs out of a directory in which they could replace such a link", () => {
    expect(() => coverOf(tree.root, true)).toThrow(/is a link through which Sandgate reads a file/);
    expect(coverOf(tree.root, false).hidden).toEqual([{ path: "releases/5/token", isFolder: false }]);
    expect(coverOf(at("fake"), true).found.size).toBe(0);
  });

  test("is found although links lead in a circle", () => {
    symlinkSync("b", at("a-link"));
    symlinkSync("a-link", at("b"));
    onTestFinished(guardFiles([{ path: at("a-link/token") }]));
    const [directory] = tree.open();
    expect(codeOf(() => directory.removeFile("b"))).toBe("read-only");
    expect(readText(directory, "ok.txt")).toBe("OK");
  });
});
