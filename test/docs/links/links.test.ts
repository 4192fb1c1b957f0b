import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { anchorsIn, linksIn } from "./markdown.ts";

/** The files that git knows or would add. */
const tracked = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "" && existsSync(file));

/** The files of the package, without those that the build writes. */
const [{ files: inPackage }] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 2 ** 26,
  }),
) as [{ files: { path: string }[] }];
const packed = inPackage.map(({ path }) => path).filter((path) => !path.startsWith("dist/"));

/** Images that the package leaves out: the registry's page shows them from the repository. */
const ONLY_IN_REPOSITORY = ["docs/recording.svg"];

/** What is wrong with the links of a document, if only these files exist. */
function brokenLinks(document: string, files: readonly string[]): readonly string[] {
  const text = readFileSync(document, "utf8");
  return linksIn(text).flatMap(({ target, line }) => {
    if (/^(?:https?|mailto):/.test(target)) return [];
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? document : posix.join(posix.dirname(document), decodeURI(path));
    const known =
      files.includes(file) || files.some((other) => other.startsWith(`${file.replace(/\/$/, "")}/`));
    if (!known) return [`${document}:${line}: ${target}: there is no such file`];
    if (anchor === undefined) return [];
    if (!file.endsWith(".md")) return [`${document}:${line}: ${target}: only documents have anchors`];
    return anchorsIn(readFileSync(file, "utf8")).has(anchor)
      ? []
      : [`${document}:${line}: ${target}: there is no such heading`];
  });
}

const documents = (files: readonly string[]): string[] => files.filter((file) => file.endsWith(".md"));

describe("The links of the repository's documents", () => {
  test.each(documents(tracked))("resolve in %s, with their anchors", (document) => {
    expect(brokenLinks(document, tracked)).toEqual([]);
  });
});

describe("The links of the package's documents", () => {
  test("are checked in README, the changelog, docs/ and the examples", () => {
    expect(packed).toEqual(expect.arrayContaining(["README.md", "CHANGELOG.md", "SECURITY.md"]));
    for (const folder of ["docs/", "docs/cookbook/", "docs/recipes/", "examples/"]) {
      expect(
        packed.filter((file) => file.startsWith(folder)),
        folder,
      ).not.toEqual([]);
    }
  });

  test.each(documents(packed))("lead to files of the package in %s", (document) => {
    expect(brokenLinks(document, [...packed, ...ONLY_IN_REPOSITORY])).toEqual([]);
  });
});
