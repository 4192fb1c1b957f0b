import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: compares all files of a walk with those of git; a tool shows only those that match.
import { Pace } from "../../../src/toolsets/files/pace.ts";
import { noGaps, walkFiles } from "../../../src/toolsets/files/walk.ts";
import { Tree } from "./tree.ts";

const FOLDERS = ["a", "foo", "a b", "é", "[a]"];
const FILES = ["b", "ab", "foo.ts", "x.o", "a ", "#x", "!y", "-", "b.ts.o"];
const PLACES = ["", ...FOLDERS.flatMap((one) => [`${one}/`, ...FOLDERS.map((two) => `${one}/${two}/`)])];
const PIECES = [
  "a",
  "b",
  "foo",
  ".ts",
  "x",
  "o",
  "/",
  "/",
  "*",
  "*",
  "**",
  "/**/",
  "**/",
  "/**",
  "?",
  "[ab]",
  "[!a]",
  "[a-f]",
  "[[:alpha:]]",
  "[]a]",
  "[",
  "]",
  "\\",
  "\\*",
  "\\ ",
  " ",
  "#",
  "!",
  "é",
  "-",
  "[^b-]",
  "\\[",
];

const name = fc.constantFrom(...FOLDERS, ...FILES);
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
const rule = fc
  .tuple(
    fc.constantFrom("", "", "", "!", "/", "!/", "#", "\\!"),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }),
    fc.constantFrom("", "", "/", " ", "\r"),
  )
  .map(([start, pieces, end]) => start + pieces.join("") + end);
const rules = fc.array(fc.oneof(rule, name, path), { maxLength: 5 }).map((lines) => lines.join("\n"));
const ignoreFiles = fc.array(fc.tuple(fc.constantFrom("", "", "a/", "foo/", "a/foo/"), rules), {
  maxLength: 3,
});

test("finds the same files as git, whatever is in the .gitignore of a directory or of those above it", async () => {
  using tree = new Tree(
    Object.fromEntries(PLACES.flatMap((place) => FILES.map((file) => [place + file, ""]))),
  );
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "core.excludesFile=", ...args], { cwd: tree.root, encoding: "utf8" });
  git("init", "-q");
  const paths = (place: string): string => join(tree.root, `${place}.gitignore`);
  await fc.assert(
    fc.asyncProperty(ignoreFiles, async (ignored) => {
      for (const place of PLACES) rmSync(paths(place), { force: true });
      for (const [place, content] of ignored) tree.add({ [`${place}.gitignore`]: content });
      const found: string[] = [];
      const pace = new Pace(new AbortController().signal, 60_000);
      for await (const file of walkFiles(tree.files, ".", { pace, gaps: noGaps() })) found.push(file);
      const expected = git("ls-files", "--others", "--exclude-standard", "-z").split("\0").slice(0, -1);
      expect(found.sort()).toEqual(expected.sort());
    }),
    { numRuns: Number(process.env["RUNS"] ?? 60) },
  );
}, 120_000);
