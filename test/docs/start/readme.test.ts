import { globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { linksIn } from "../links/markdown.ts";
import { blocksOf, printedBy, saidOutput } from "../snippets.ts";

const text = readFileSync("README.md", "utf8");
const [commands = "", install = ""] = blocksOf("README.md", "sh");
const { scripts, version } = JSON.parse(readFileSync("package.json", "utf8"));

describe("README", () => {
  test("can be read in two minutes", () => expect(text.split("\n").length).toBeLessThanOrEqual(120));

  test("has at most fifteen links", () => expect(linksIn(text).length).toBeLessThanOrEqual(15));

  test("has a program of fifteen lines that prints what it says", async () => {
    const [program = "", ...others] = blocksOf("README.md", "ts");
    expect(others).toEqual([]);
    expect(program.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(16);
    expect(saidOutput(program)).toHaveLength(1);
    expect(await printedBy(program)).toEqual(saidOutput(program));
  });

  test("has a recording of a minute that is small, and not in the package", () => {
    const image = readFileSync("docs/recording.svg", "utf8");
    expect(text).toContain("(docs/recording.svg)");
    expect(image.length).toBeLessThanOrEqual(300 * 1_024);
    for (const shown of [
      "$\u00a0sandgate\u00a0dispatch",
      "ok:",
      "$\u00a0sandgate\u00a0why\u00a0call_1",
      "receipt:",
    ])
      expect(image).toContain(shown);
    expect(image).not.toMatch(/<script|href=/);
    const lines = readFileSync("docs/recording.cast", "utf8").trimEnd().split("\n");
    const [, ...events] = lines.map((line) => JSON.parse(line));
    expect(events.at(-1)?.[0]).toBeLessThanOrEqual(65);
    expect(JSON.parse(readFileSync("package.json", "utf8")).files).toContain("!docs/recording.*");
  });

  test("has one command that runs the quickstart and one that runs the tests, as CI does", () => {
    const parts = commands
      .trim()
      .split("\n")
      .map((line) => line.replace(/\s*#.*/, ""));
    expect(parts).toEqual(["npm ci && npm start", "npm ci && npm test"]);
    const steps = readFileSync(".ci/run", "utf8");
    for (const command of ["npm ci", "npm start", "npm test"])
      expect(steps).toMatch(new RegExp(`^(?:step|tests) .* ${command}(?: |$)`, "m"));
  });

  test("installs the package that npm pack writes", () => {
    for (const [, script = ""] of install.matchAll(/npm run (\w+)/g)) expect(scripts).toHaveProperty(script);
    expect(install).toContain(`sandgate-${version}.tgz`);
  });

  test("says that the package is not on npm, and no page installs a package of that name from there", () => {
    expect(text).toContain("Sandgate is not on npm yet");
    for (const page of ["README.md", ...globSync("{docs,examples}/**/*.md")]) {
      for (const [line] of readFileSync(page, "utf8").matchAll(
        /npm install (?:.* )?(?:sandgate|\S+\.tgz)(?= |$)/gm,
      ))
        expect(line, page).toMatch(new RegExp(`/sandgate-${version.replaceAll(".", "\\.")}\\.tgz$`));
    }
  });

  test("leads to every page of docs/, directly or by way of one of them", () => {
    const reached = new Set(["README.md"]);
    for (const document of reached) {
      if (!document.endsWith(".md")) continue;
      for (const { target } of linksIn(readFileSync(document, "utf8"))) {
        const [path = ""] = target.split("#");
        if (path === "" || /^[a-z]+:/.test(target)) continue;
        reached.add(posix.join(posix.dirname(document), path));
      }
    }
    expect(globSync("docs/**/*.md").filter((page) => !reached.has(page))).toEqual([]);
  });
});
