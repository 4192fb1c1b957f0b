import { readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate } from "../../sandgate.ts";

describe("sandgate tool new", () => {
  test.each([
    { options: [], example: "wasm-tool-javascript" },
    { options: ["--language", "c"], example: "wasm-tool-c" },
  ])("writes every file of $example and the WIT of the world", async ({ options, example }) => {
    const directory = join(await createFolder({}), "a/project");
    const { code, stdout } = await sandgate(["tool", "new", "--wasm", directory, ...options]);
    expect(code).toBe(0);
    const written = stdout.trim().split("\n");
    const wit = (await readdir("wit")).map((name) => `wit/${name}`);
    const files = (await readdir(`examples/${example}`, { withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    const expected = [".gitignore", ...files.map(({ name }) => name), ...wit];
    expect(written).toEqual(expect.arrayContaining(expected.map((name) => join(directory, name))));
    expect(written).toHaveLength(expected.length);
    for (const { name } of files) {
      expect(await readFile(join(directory, name), "utf8")).toBe(
        await readFile(join("examples", example, name), "utf8"),
      );
    }
    expect(await readFile(join(directory, "wit/tool.wit"), "utf8")).toBe(
      await readFile("wit/tool.wit", "utf8"),
    );
  });

  test("writes nothing if a file exists, even if it is a dangling link", async () => {
    const directory = await createFolder({ "tool.js": "mine" });
    const refused = await sandgate(["tool", "new", "--wasm", directory]);
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
    expect(await sandgate(["tool", "new", "--wasm", directory, "-l", "c"])).toMatchObject({ code: 0 });
    expect(await readdir(directory)).toContain("LICENSE");
  });

  test("reports problems of the command line and of the folder", async () => {
    const folder = await createFolder({ file: "" });
    for (const [args, reason] of [
      [[folder], "--wasm is required"],
      [["--wasm"], "DIR is missing"],
      [["--wasm", folder, "-l", "rust"], "--language must be one of javascript, c, not 'rust'"],
      [["--wasm", join(folder, "file")], "cannot create the project: "],
      [["--wasm", "a", "b"], "unexpected argument 'b'"],
    ] as const) {
      const outcome = await sandgate(["tool", "new", ...args]);
      expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(reason) });
    }
  });
});
