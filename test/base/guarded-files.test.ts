import { expect, test } from "vitest";
import { guardedFiles, guardFiles } from "../../src/base/guarded-files.ts";

test("a path that no file can have is not looked for", () => {
  const before = guardedFiles();
  guardFiles([
    { path: "x".repeat(256) },
    { path: "a/".repeat(2_100) },
    { path: "a\0b" },
    { path: "é".repeat(128) },
  ]);
  expect(guardedFiles()).toBe(before);
});

test("a file is guarded until everything that named it has ended that", () => {
  const [path, other] = ["/tmp/sandgate-guarded", "/tmp/sandgate-other"];
  const isGuarded = (): boolean => guardedFiles().some((file) => file.path === path);
  const [first, second] = [guardFiles([{ path }]), guardFiles([{ path }, { path: other }])];
  first();
  first();
  expect(isGuarded()).toBe(true);
  second();
  expect(isGuarded()).toBe(false);
});
