import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFolder, sandgate } from "../sandgate.ts";

const PROJECT = [
  "message.json",
  "sandgate.policy-test.yaml",
  "sandgate.yaml",
  "tools",
  "tools/count-words.js",
];

test("sandgate init creates a project that checks, passes its test and answers its message", async () => {
  const folder = join(await createFolder({}), "new");
  const created = await sandgate(["init", folder]);
  expect(created).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`Next: cd ${folder} && sandgate`),
  });
  expect((await readdir(folder, { recursive: true })).sort()).toEqual(PROJECT);
  const config = join(folder, "sandgate.yaml");
  expect(await sandgate(["check", "--config", config])).toEqual({
    code: 0,
    stdout: `${config}: 1 tool, 0 errors, 0 warnings\n`,
    stderr: "",
  });
  expect(await sandgate(["policy", "test", "--config", config])).toMatchObject({
    code: 0,
    stdout: "2 cases are decided as expected\n",
  });
  const message = join(folder, "message.json");
  const { code, stdout } = await sandgate(["dispatch", message, "--config", config, "--output", "json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).executions).toMatchObject([
    {
      success: true,
      output: [
        { word: "be", count: 2 },
        { word: "to", count: 2 },
      ],
    },
  ]);
});

test("sandgate init writes nothing if one of its files exists", async () => {
  const folder = await createFolder({});
  await writeFile(join(folder, "message.json"), "mine");
  expect(await sandgate(["init", folder])).toEqual({
    code: 2,
    stdout: "",
    stderr: `sandgate: cannot create the files: ${join(folder, "message.json")} already exists\n`,
  });
  expect(await readdir(folder)).toEqual(["message.json"]);
  expect(await readFile(join(folder, "message.json"), "utf8")).toBe("mine");
});
