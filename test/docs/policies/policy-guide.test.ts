import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const text = readFileSync("docs/policy-guide.md", "utf8");
const folder = mkdtempSync(join(tmpdir(), "policy-guide-"));
const project = join(folder, "project");
afterAll(() => rmSync(folder, { recursive: true }));

// The command, as the lines of the guide name it.
const main = join(process.cwd(), "src/cli/main.ts");
mkdirSync(project);
writeFileSync(join(folder, "sandgate"), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, {
  mode: 0o755,
});
const env = { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"]}` };

/** Runs a line of the guide in the project. */
function run(line: string): {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
} {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", line], { cwd: project, env, encoding: "utf8" });
  return { code: status, output: stdout.replaceAll(project, "/srv/agent"), errors: stderr };
}

/** The output of a command, if it comes right after the command. */
const SHOWN = /^\n+```text\n((?:(?!```).*\n)*)/;

if (process.platform !== "linux")
  console.warn("docs/policy-guide.md is skipped: files are granted on Linux only");
describe.skipIf(process.platform !== "linux")("docs/policy-guide.md", () => {
  const sections = text.split(/^## /m).slice(1);

  test("has a step for each idea", () => expect(sections).toHaveLength(11));

  // The steps build on each other, so they run in order.
  test.each(
    sections.map((section) => [section.split("\n", 1)[0] ?? "", section]),
  )("the files, the commands and their output are as it says: step %s", (_title, section) => {
    const blocks = [...section.matchAll(/^```(.*)\n([\s\S]*?)^```$(?=([\s\S]*))/gm)];
    for (const [, info = "", body = "", rest = ""] of blocks) {
      const [, how, file] = /\b(file|append)=(\S+)/.exec(info) ?? [];
      if (file !== undefined) {
        mkdirSync(dirname(join(project, file)), { recursive: true });
        (how === "file" ? writeFileSync : appendFileSync)(join(project, file), body);
      } else if (info === "sh") {
        const lines = body.trim().split("\n");
        const outcomes = lines.map(run);
        const codes = lines.map((line) => Number(/# exits with (\d)/.exec(line)?.[1] ?? 0));
        expect(
          outcomes.map(({ code }) => code),
          outcomes.at(-1)?.errors,
        ).toEqual(codes);
        const [, shown] = SHOWN.exec(rest) ?? [];
        // What a step does not speak of, such as a warning of an earlier one, may be left out.
        const printed = outcomes.map(({ output }) => output).join("");
        const all = printed + outcomes.map(({ errors }) => errors).join("");
        if (shown !== undefined) expect([printed, all]).toContain(shown);
      } else {
        expect(info).toBe("text");
      }
    }
  });

  test("the config checks without an error in the end, with the candidate as its shadow", () => {
    expect(run("sandgate check").code).toBe(0);
  });

  test("the deny rule of step 4 stops what step 3 allowed, whatever the candidate allows", () => {
    const call = JSON.stringify({ tool: "read_file", arguments: { path: "src/.env" } });
    for (const policy of ["policy.yaml", "candidate.yaml"]) {
      execFileSync("cp", [policy, "tried.yaml"], { cwd: project });
      const config = readFileSync(join(project, "sandgate.yaml"), "utf8");
      writeFileSync(join(project, "tried-config.yaml"), config.replace("policy.yaml", "tried.yaml"));
      const { output } = run(`sandgate policy explain --config tried-config.yaml --call '${call}'`);
      expect(output).toMatch(/^deny: /);
    }
  });
});
