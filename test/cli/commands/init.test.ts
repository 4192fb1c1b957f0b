import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
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
    stderr: expect.stringMatching(/^Next: cd \S+ && (npx )?sandgate policy test && /),
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

test.each<[own: string, env: Record<string, string>, lock?: string]>([
  ["npx sandgate", { npm_config_user_agent: "npm/11.0.0 node/v26.10.0 linux x64" }],
  ["pnpm exec sandgate", { npm_config_user_agent: "pnpm/10.0.0 npm/? node/v26.10.0 linux x64" }],
  ["yarn sandgate", { npm_config_user_agent: "yarn/4.9.2 npm/? node/v26.10.0 linux x64" }],
  ["bunx sandgate", { npm_config_user_agent: "bun/1.3.0 npm/? node/v26.10.0 linux x64" }],
  ["sandgate", { PATH: "bin" }],
  ["npx sandgate", { PATH: "project/node_modules/.bin" }],
  ["yarn sandgate", { PATH: "project/node_modules/.bin" }, "yarn.lock"],
])("sandgate init says what to run next with '%s', as the user can run it: %j %s", async (own, env, lock) => {
  const names = ["bin/sandgate", "project/node_modules/.bin/sandgate", ...(lock ? [`project/${lock}`] : [])];
  const folder = await createFolder({
    "project/x": "",
    ...Object.fromEntries(names.map((name) => [name, ""])),
  });
  const { PATH = "/nowhere", npm_config_user_agent: agent = "" }: Partial<Record<string, string>> = env;
  vi.stubEnv("npm_config_user_agent", agent);
  vi.stubEnv("PATH", join(folder, PATH));
  const before = process.cwd();
  process.chdir(join(folder, "project"));
  onTestFinished(() => {
    process.chdir(before);
    vi.unstubAllEnvs();
  });
  const { stderr } = await sandgate(["init"]);
  expect(stderr).toBe(`Next: ${own} policy test && ${own} dispatch message.json\n`);
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
