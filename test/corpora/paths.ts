import { spawnSync } from "node:child_process";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openFile } from "../../src/workspace/entries.ts";
import { MAX_READ_BYTES } from "../../src/workspace/file.ts";
import type { ToolDirectory } from "../../src/workspace/tool-directory.ts";
import { Workspace } from "../../src/workspace/workspace.ts";
import { codeOf, listNames, textOf, writeText } from "../workspace/granted-tree.ts";
import { race } from "../workspace/race.ts";

interface Tree {
  readonly id: string;
  readonly setup: readonly string[];
  readonly root: string;
  readonly op: string;
  readonly path: string;
  readonly expect: string;
}

const folder = `${process.env["SANDGATE_CORPORA"]}/paths`;
const lines = (file: string): readonly string[] =>
  readFileSync(`${folder}/${file}`, "utf8").trim().split("\n");
const trees = lines("path_trees.jsonl").map((line): Tree => JSON.parse(line));
const paths = lines("paths.jsonl").map((line): string => JSON.parse(line).path);

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "sandgate-paths-"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Everything below the base but what is in the granted directory. */
function outsideOf(root: string): readonly string[] {
  const names = readdirSync(base, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => !name.startsWith(`${root}/`))
    .sort()
    .map((name) => {
      const path = join(base, name);
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) return `${name} -> ${readlinkSync(path)}`;
      return stats.isFile()
        ? `${name}: ${stats.mode} ${readFileSync(path, "utf8")}`
        : `${name}: ${stats.mode}`;
    });
}

function build(step: string): void {
  const [kind, name = "", ...rest] = step.split(" ");
  const path = join(base, name);
  const text = rest.join(" ");
  switch (kind) {
    case "dir":
      mkdirSync(path, { recursive: true });
      break;
    case "file":
      writeFileSync(path, text === "1GiB-sparse" ? "" : text);
      if (text === "1GiB-sparse") truncateSync(path, 2 ** 30);
      break;
    case "symlink":
      symlinkSync(text.replace("/ABS", base), path);
      break;
    case "hardlink":
      linkSync(join(base, text), path);
      break;
    case "fifo":
      expect(spawnSync("sh", ["-c", `mkfifo "$0"`, path]).status).toBe(0);
      break;
    default:
      throw new Error(`the corpus has a step that is not known here: ${step}`);
  }
}

/** Does what a tree asks for; returns what was seen. */
function act(directory: ToolDirectory, op: string, path: string): string {
  switch (op) {
    case "read":
      return textOf(openFile(directory, path, { read: true, follow: true }).read(0, 2 ** 30));
    case "write":
      writeText(directory, path, "WRITTEN");
      return "";
    case "stat":
      return String(directory.stat(path).size);
    case "list":
      return listNames(directory, path).join();
    case "mkdir":
      directory.createDirectory(path);
      return "";
    case "delete":
      directory.removeFile(path);
      return "";
    case "rename": {
      const [from = "", to = ""] = path.split(" -> ");
      directory.rename(from, directory, to);
      return "";
    }
    default:
      throw new Error(`the corpus has an operation that is not known here: ${op}`);
  }
}

describe("trees", () => {
  const still = trees.filter(({ op }) => op !== "race");

  test.each(still)("$id: $op $path: $expect", ({ setup, root, op, path, expect: end }) => {
    for (const step of setup) build(step);
    const before = outsideOf(root);
    using workspace = new Workspace([{ directory: join(base, root), write: true }], 2 ** 20);
    for (const { directory } of workspace.directories) {
      const result = codeOf(() => act(directory, op, path.replace("/ABS", base)));
      const hasFailed = typeof result === "string";
      if (end === "deny" || end === "error" || end === "error_fast") expect(hasFailed).toBe(true);
      if (end === "ok" || end === "size_cap") expect(hasFailed).toBe(false);
      const { returned = "" } = result as { readonly returned?: string };
      expect(returned.length).toBeLessThanOrEqual(MAX_READ_BYTES);
      expect(returned).not.toContain("CANARY");
    }
    expect(outsideOf(root)).toEqual(before);
  });

  test.each(trees.filter(({ op }) => op === "race"))("$id: $op $path: $expect", async () => {
    const { operations, good, outside } = await race((done) => done < 5_000);
    expect({ outside, enough: operations >= 5_000 && good >= 50 }).toEqual({ outside: 0, enough: true });
  });
});

test("path strings, as they are and decoded, reach nothing outside", () => {
  for (const step of [
    "dir W",
    "dir W/inner",
    "dir outside",
    "file outside/secret.txt CANARY",
    "file passwd CANARY",
  ]) {
    build(step);
  }
  const before = outsideOf("W");
  let operations = 0;
  let inside = 0;
  for (const path of new Set([...paths, ...paths.map(decoded)])) {
    using workspace = new Workspace([{ directory: join(base, "W/inner"), write: true }], 2 ** 20);
    for (const { directory } of workspace.directories) {
      for (const op of ["read", "stat", "list", "write", "read", "stat", "mkdir", "delete"]) {
        operations++;
        const result = codeOf(() => act(directory, op, path));
        if (typeof result === "string") continue;
        inside++;
        const { returned } = result as { readonly returned: string };
        if (op === "read") expect(returned).toBe("WRITTEN");
      }
    }
  }
  expect(outsideOf("W")).toEqual(before);
  expect(readdirSync(join(base, "W"))).toEqual(["inner"]);
  console.log(
    `paths: ${paths.length} strings, ${operations} operations, ${inside} of them inside, 0 outside`,
  );
});

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

test("a race of 20 s and 100,000 operations reaches nothing outside", { timeout: 180_000 }, async () => {
  const end = performance.now() + 20_000;
  const counts = await race((done) => done < 100_000 || performance.now() < end);
  console.log(`race: ${counts.operations} operations, ${counts.good} good, ${counts.outside} outside`);
  expect(counts.outside).toBe(0);
  expect(counts.good).toBeGreaterThanOrEqual(1_000);
});
