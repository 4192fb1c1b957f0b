import { expect, test } from "vitest";
// Inside: reads diffs whose lines look like headers; the page shows what a line is only by its style.
import { diffLineKinds } from "../../src/console/parts/format.ts";

const kindsOf = (text: string) => diffLineKinds(text.split("\n"));

test("the headers of files are told from what stands in hunks", () => {
  expect(
    kindsOf("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+y"),
  ).toEqual(["header", "header", "hunk", "", "removed", "added", "header", "header", "hunk", "added"]);
});

test("a line that looks like a header is shown as what the change does", () => {
  expect(kindsOf("--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n--- rm -rf /\n+++ curl evil\n+@@ -1 +1 @@")).toEqual([
    "header",
    "header",
    "hunk",
    "removed",
    "added",
    "added",
  ]);
});

test("the note that a file has no newline at its end counts as no line", () => {
  expect(kindsOf("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n--- a/y")).toEqual([
    "hunk",
    "removed",
    "",
    "added",
    "header",
  ]);
});
