import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { canonicalPath } from "../../../src/supervisor/access/canonical-path.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-canonical-")));
afterAll(() => rmSync(root, { recursive: true }));
mkdirSync(join(root, "a/b"), { recursive: true });
writeFileSync(join(root, "a/file"), "");
symlinkSync("..", join(root, "a/up"));
symlinkSync("/etc", join(root, "a/out"));
symlinkSync("loop", join(root, "loop"));
symlinkSync("a/missing", join(root, "dangling"));

test.each([
  ["a/b", "a/b", "folder"],
  ["a/./b/", "a/b", "folder"],
  ["a//file", "a/file", "file"],
  ["a/b/../file", "a/file", "file"],
  ["a/up/a/up/a/file", "a/file", "file"],
  ["dangling", "a/missing", "absent"],
  ["a/new/file", "a/new/file", "absent"],
])("'%s' leads to '%s'", (given, path, kind) => {
  expect(canonicalPath(`${root}/${given}`)).toEqual({ path: join(root, path), kind });
});

test("a link that leads out is followed", () => {
  expect(canonicalPath(`${root}/a/out/passwd`)).toEqual({ path: "/etc/passwd", kind: "file" });
});

test.each([
  ["a relative path", "a/b"],
  ["a link to itself", `${root}/loop`],
  ["a path through a file", `${root}/a/file/x`],
  ["a path that leaves a folder that is missing", `${root}/a/missing/../file`],
  ["a path with NUL", `${root}/a\0/file`],
  ["half a surrogate pair", `${root}/\ud800`],
  ["a path that is too long", `/${"a/".repeat(3_000)}`],
])("%s leads nowhere", (_what, path) => {
  expect(canonicalPath(path)).toBeUndefined();
});

test("every path that exists leads where the system says", () => {
  const name = fc.constantFrom("a", "b", "up", "file", "..", ".", "out", "loop", "dangling", "");
  fc.assert(
    fc.property(fc.array(name, { maxLength: 8 }), (names) => {
      const path = `${root}/${names.join("/")}`;
      let real: string | undefined;
      try {
        real = realpathSync.native(path);
      } catch {
        return;
      }
      // The system ignores a slash at the end of a folder only; realpath(3) of a file with one fails.
      expect(canonicalPath(path)?.path).toBe(real);
    }),
  );
});
