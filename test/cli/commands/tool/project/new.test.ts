import { globSync } from "node:fs";
import { readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate } from "../../../sandgate.ts";

const CHOICES = [
  { options: [], example: "tool-javascript" },
  { options: ["-l", "typescript"], example: "tool-typescript" },
  { options: ["--wasm"], example: "wasm-tool-javascript" },
  { options: ["--language", "c"], example: "wasm-tool-c" },
  { options: ["-l", "assemblyscript", "--wasm"], example: "wasm-tool-assemblyscript" },
  { options: ["-l", "rust"], example: "wasm-tool-rust" },
  { options: ["--key-value"], example: "wasm-tool-key-value" },
];

/** The paths of the files in a folder, sorted. Links to folders are followed. */
function filesIn(folder: string): readonly string[] {
  const inLinks = globSync("wit/*.wit", { cwd: folder });
  const files = globSync("**/*.*", { cwd: folder, exclude: ["node_modules", "dist", "target"] });
  return [...new Set([...files, ...inLinks])].sort();
}

describe("sandgate tool new", () => {
  test("has a test for each example that it copies", async () => {
    const examples = (await readdir("examples")).filter((name) => /^(wasm-)?tool-/.test(name));
    expect(CHOICES.map(({ example }) => example).sort()).toEqual(examples.sort());
  });

  test.each(CHOICES)("writes every file of $example as it is", async ({ options, example }) => {
    const directory = join(await createFolder({}), "a/project");
    const { code, stdout } = await sandgate(["tool", "new", directory, ...options]);
    expect(code).toBe(0);
    const written = stdout
      .trim()
      .split("\n")
      .map((path) => path.slice(directory.length + 1));
    const files = filesIn(`examples/${example}`);
    expect(written.sort()).toEqual([".gitignore", ...files].sort());
    expect(files.length).toBeGreaterThan(4);
    for (const name of files) {
      expect(await readFile(join(directory, name), "utf8")).toBe(
        await readFile(join("examples", example, name), "utf8"),
      );
    }
  });

  test("writes nothing if a file exists, even if it is a dangling link", async () => {
    const directory = await createFolder({ "tool.js": "mine" });
    const refused = await sandgate(["tool", "new", directory]);
    expect(refused).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("tool.js already exists"),
    });
    expect(await readdir(directory)).toEqual(["tool.js"]);
    expect(await readFile(join(directory, "tool.js"), "utf8")).toBe("mine");
    const linked = await createFolder({});
    await symlink(join(linked, "nowhere"), join(linked, "build.mjs"));
    expect(await sandgate(["tool", "new", "--wasm", linked])).toMatchObject({ code: 2 });
    expect(await readdir(linked)).toEqual(["build.mjs"]);
  });

  test("writes into a folder that has other files", async () => {
    const directory = await createFolder({ LICENSE: "mine" });
    expect(await sandgate(["tool", "new", directory, "-l", "c"])).toMatchObject({ code: 0 });
    expect(await readdir(directory)).toContain("LICENSE");
  });

  test("reports problems of the command line and of the folder", async () => {
    const folder = await createFolder({ file: "" });
    for (const [args, reason] of [
      [["--wasm"], "DIR is missing"],
      [[folder, "-l", "go"], "must be one of javascript, typescript, c, assemblyscript, rust, not 'go'"],
      [[folder, "-l", "typescript", "--wasm"], "--wasm is not possible with typescript"],
      [[folder, "-l", "rust", "--key-value"], "--key-value is only possible with assemblyscript"],
      [[join(folder, "file")], "cannot create the files: "],
      [["a", "b"], "unexpected argument 'b'"],
    ] as const) {
      const outcome = await sandgate(["tool", "new", ...args]);
      expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(reason) });
    }
  });
});
