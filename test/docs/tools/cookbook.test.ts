import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS, parseCommandLine } from "../../../src/cli/run.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";

/** The commands of the first block of each page. `scripts/new-tools.ts` runs them with the packed package. */
const PAGES = readdirSync("docs/cookbook").map((file) => {
  const text = readFileSync(`docs/cookbook/${file}`, "utf8");
  const [, block = ""] = /^```sh\n(.*?)^```$/ms.exec(text) ?? [];
  return { file, text, commands: block.trim().split("\n") };
});

describe.each(PAGES)("docs/cookbook/$file", ({ text, commands }) => {
  const create = commands.find((command) => command.startsWith("sandgate tool new ")) ?? "";
  const runs = commands.filter((command) => command.startsWith("sandgate tool run "));

  test("creates a project, whose folder and scripts the other commands use", async () => {
    const [, , , name = "", ...options] = create.split(" ");
    const folder = join(await createFolder({}), name);
    expect(await sandgate(["tool", "new", folder, ...options])).toMatchObject({ code: 0 });
    expect(commands).toContain(`cd ${name}`);
    expect(commands).toContain("npm test");
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(manifest.scripts).toMatchObject({ build: expect.stringContaining("--grant dist/grant.yaml") });
    expect(commands.includes("npm install")).toBe("devDependencies" in manifest);
    for (const run of runs) {
      const [command = "", input = ""] = run.split(" --input ");
      const argv = [...command.split(" ").slice(1), "--input", input.slice(1, -1)];
      const parsed = parseCommandLine(argv, COMMANDS);
      expect(parsed.name).toBe("tool run");
      expect(JSON.parse(input.slice(1, -1))).toBeTypeOf("object");
      if (!command.includes(" tool.")) continue;
      // There is nothing to build.
      const file = join(folder, command.split(" ").at(-1) ?? "");
      const { stdout } = await sandgate(["tool", "run", file, "--input", input.slice(1, -1)]);
      expect(JSON.parse(stdout)).toMatchObject({ success: true });
    }
    expect(runs.length).toBeGreaterThan(0);
  });

  test("links to files that there are", () => {
    for (const [, path = ""] of text.matchAll(/\]\((?!https:)([^)#]+)/g))
      expect(() => readFileSync(join("docs/cookbook", path))).not.toThrow();
  });
});
