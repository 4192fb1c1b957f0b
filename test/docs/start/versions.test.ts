import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const text = readFileSync("docs/versions.md", "utf8");
const { engines, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const [, oldest] = /^>=(\d+)$/.exec(engines.node) ?? [];

describe("docs/versions.md", () => {
  test("names the oldest version of Node.js that package.json and the other documents name", () => {
    expect(text).toContain(`Node.js ${oldest} and later`);
    for (const document of ["README.md", "docs/library.md", "docs/environments.md"]) {
      expect(readFileSync(document, "utf8")).toMatch(new RegExp(`Node\\.js ${oldest} (?:and|or) later`));
    }
  });

  test("names the versions of Node.js that the packed package is tried on", () => {
    const [, packedOn] = /^const NODE_\d+ = "(\d+)\./m.exec(readFileSync("scripts/packed.ts", "utf8")) ?? [];
    const [current] = devDependencies.node.split(".");
    expect(text).toContain(`the packed package on Node.js ${current} and ${packedOn}`);
  });

  test("names the path of the API, and where the formats of files are", () => {
    const paths = readFileSync("docs/openapi.yaml", "utf8").matchAll(/^ {2}(\/v\d+)\//gm);
    expect(new Set(Array.from(paths, ([, path]) => path))).toEqual(new Set(["/v1"]));
    expect(text).toContain("`/v1/`");
    expect(text).toContain("(operations.md#files-and-their-formats)");
  });
});

test.each([
  "docs/comparison.md",
  "docs/faq.md",
])("%s names only scripts and suites that exist", (document) => {
  const page = readFileSync(document, "utf8").replaceAll("\n", " ");
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  const suites = readFileSync("bench/suites.ts", "utf8");
  for (const [, script = "", more = ""] of page.matchAll(/`npm run ([\w:]+)(?: -- ([^`]*))?`/g)) {
    expect(scripts).toHaveProperty([script]);
    for (const name of more.split(" ").filter((word) => /^\w/.test(word))) expect(suites).toContain(name);
  }
});
