import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sandgate } from "../../sandgate.ts";
import { createProject } from "./project.ts";

const MESSAGE = JSON.stringify({
  role: "assistant",
  toolCalls: ["src/a.ts", "lib/a.ts", "lib/b.ts", "src/a.key"].map((path, index) => ({
    id: `call-${index}`,
    name: "read_file",
    arguments: { path },
  })),
});

/** Records calls under the project's policy. Returns the folder. */
async function record(message = MESSAGE): Promise<string> {
  const folder = await createProject({ "message.json": message });
  const config = join(folder, "sandgate.yaml");
  await writeFile(config, `${await readFile(config, "utf8")}journal: { directory: records }\n`);
  const dispatched = await sandgate(["dispatch", join(folder, "message.json"), "--config", config]);
  expect(dispatched.code).toBe(0);
  return folder;
}

describe("sandgate policy diff", () => {
  test("prints what changed, what permits more first, and exits with 3 unless that is accepted", async () => {
    const folder = await record();
    const file = join(folder, "new.yaml");
    await writeFile(
      file,
      `
rules:
  - { name: libraries, tools: [read_file], effect: allow, when: { /path: { glob: "lib/**" } }, sandboxes: [host] }
`,
    );
    const records = join(folder, "records");
    const argv = ["policy", "diff", join(folder, "sandgate.yaml"), file, "--journal", records];
    const { code, stdout } = await sandgate(argv);
    expect(stdout.replace(/record \d+/g, "record N").split("\n")).toEqual([
      "1 calls are decided as before, 3 differently",
      "deny → allow, which permits more: 2 calls",
      `  2 by 'libraries', before by no rule; such as call call-1 of read_file, record N of ${records}`,
      "allow → deny: 1 calls",
      `  1 by no rule, before by 'sources' and 'everyone'; such as call call-0 of read_file, record N of ${records}`,
      "",
    ]);
    expect(code).toBe(3);
    expect((await sandgate([...argv, "--accept-wider"])).code).toBe(0);
    expect(await sandgate(["policy", "diff", file, file, "--journal", records])).toMatchObject({
      code: 0,
      stdout: "4 calls are decided as before, 0 differently\n",
    });
  });

  test("prints how many calls cannot be decided again, by the cause, and how many were not decided on", async () => {
    const calls = [{ path: "AKIAIOSFODNN7EXAMPLE" }, { path: "src/a.ts" }, { path: 1 }];
    const toolCalls = calls.map((each, index) => ({ id: `${index}`, name: "read_file", arguments: each }));
    const folder = await record(JSON.stringify({ role: "assistant", toolCalls }));
    const config = join(folder, "sandgate.yaml");
    const argv = ["policy", "diff", config, config, "--journal", join(folder, "records")];
    expect(await sandgate(argv)).toMatchObject({
      code: 0,
      stdout: [
        "1 calls are decided as before, 0 differently",
        "1 calls failed before the policy decided",
        "1 calls cannot be decided again: arguments redacted",
        "",
      ].join("\n"),
    });
  });

  test("prints fifty combinations of rules for each change, and how many more there are", async () => {
    const paths = Array.from({ length: 52 }, (_, index) => `lib/${index}.ts`);
    const toolCalls = paths.map((path) => ({ id: path, name: "read_file", arguments: { path } }));
    const folder = await record(JSON.stringify({ role: "assistant", toolCalls }));
    const rule = { tools: ["read_file"], effect: "allow", sandboxes: ["host"] };
    const rules = paths.map((path) => ({ ...rule, name: path, when: { "/path": { equals: path } } }));
    await writeFile(join(folder, "new.yaml"), JSON.stringify({ rules }));
    const argv = ["policy", "diff", join(folder, "sandgate.yaml"), join(folder, "new.yaml")];
    const { stdout } = await sandgate([...argv, "--journal", join(folder, "records")]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[1]).toBe("deny → allow, which permits more: 52 calls");
    expect(lines.filter((line) => line.startsWith("  1 by "))).toHaveLength(50);
    expect(lines.at(-1)).toBe("  and 2 more combinations of rules");
  });

  test("compares policies in Cedar with each other and with rules, in files and in configs", async () => {
    const folder = await record();
    const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
    const permit = (id: string, path: string): string =>
      `@id("${id}") permit (principal, action == Sandgate::Action::"read_file", resource) when { context.input.path like "${path}" };`;
    await write("sources.cedar", permit("cedar sources", "src/*.ts"));
    await write("libraries.cedar", permit("cedar libraries", "lib/*"));
    const entry = (file: string): string =>
      `cedar: ${file}\ngrants: { default: { sandboxes: [host], limits: { wallTime: 1s } } }\n`;
    await write("sources.yaml", entry("sources.cedar"));
    await write("libraries.yaml", entry("libraries.cedar"));
    await write("everything.yaml", "rules: [{ tools: ['*'], effect: allow, sandboxes: [host] }]");
    const config = await readFile(join(folder, "sandgate.yaml"), "utf8");
    const tools = config.slice(0, config.indexOf("policy:"));
    await write("config.yaml", `${tools}policy: [libraries.yaml, everything.yaml]\n`);
    const diff = async (
      before: string,
      after: string,
      file = "",
    ): Promise<{ code: number; lines: string[] }> => {
      const argv = ["policy", "diff", join(folder, before), join(folder, after), "--journal"];
      const { code, stdout, stderr } = await sandgate([...argv, join(folder, "records", file)]);
      expect(stderr).toBe("");
      return { code, lines: stdout.split("\n").map((line) => line.replace(/;.*/, "")) };
    };
    expect(await diff("sandgate.yaml", "sources.yaml")).toEqual({
      code: 0,
      lines: [
        "3 calls are decided as before, 1 differently",
        "narrower grant: 1 calls",
        "  1 by 'cedar sources', before by 'sources' and 'everyone'",
        "",
      ],
    });
    expect(await diff("sources.yaml", "config.yaml")).toEqual({
      code: 3,
      lines: [
        "1 calls are decided as before, 3 differently",
        "deny → allow, which permits more: 2 calls",
        "  2 by 'cedar libraries' and 'rule 1', before by no rule",
        "allow → deny: 1 calls",
        "  1 by no rule, before by 'cedar sources'",
        "",
      ],
    });
    expect((await diff("config.yaml", "config.yaml")).code).toBe(0);
    // The tools of a policy in Cedar are those beside the file, too.
    const [file = ""] = (await readdir(join(folder, "records"))).filter((name) => name.endsWith(".jsonl"));
    expect(await diff("sandgate.yaml", "sources.yaml", file)).toEqual(
      await diff("sandgate.yaml", "sources.yaml"),
    );
  });

  test("reports what is wrong with a policy in Cedar", async () => {
    const folder = await record();
    await writeFile(join(folder, "bad.cedar"), "permit (principal);");
    await writeFile(join(folder, "bad.yaml"), "cedar: bad.cedar\ngrants: {}\n");
    await writeFile(join(folder, "config.yaml"), "tools: []\npolicy: bad.yaml\n");
    for (const file of ["bad.yaml", "config.yaml"]) {
      const argv = ["policy", "diff", join(folder, file), join(folder, "sandgate.yaml")];
      const { code, stderr } = await sandgate([...argv, "--journal", join(folder, "records")]);
      expect(stderr).toMatch(/bad\.cedar:1:\d+: /);
      expect(code).toBe(2);
    }
  });

  test("exits with 2 if a policy, a journal or the command line is not valid", async () => {
    const folder = await createProject({ "bad.yaml": "rules: 1", "policy.yaml": "policy: { rules: 2 }" });
    const config = join(folder, "sandgate.yaml");
    const diff = (...args: readonly string[]): ReturnType<typeof sandgate> =>
      sandgate(["policy", "diff", ...args]);
    const bad = await diff(join(folder, "bad.yaml"), config, "--journal", folder);
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining("bad.yaml:1:8: must be a list") });
    const inConfig = await diff(config, join(folder, "policy.yaml"), "--journal", folder);
    expect(inConfig).toMatchObject({ code: 2, stderr: expect.stringContaining("policy.yaml:1:18: must be") });
    const noJournal = await diff(config, config, "--journal", folder);
    expect(noJournal).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be read") });
    expect((await diff(config)).stderr).toContain("NEW is missing");
    expect((await diff(config, config)).stderr).toContain("--journal DIR|FILE is missing");
  });
});
