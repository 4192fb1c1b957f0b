import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, type Outcome, PROJECT, sandgate } from "../../sandgate.ts";

/** Checks a config with one program, which is declared on line 5. */
async function check(program: string): Promise<Outcome> {
  const yaml = `tools:
  - name: run
    description: Runs a program.
    inputSchema: { type: object }
    process: { command: cat, ${program} }
policy: { rules: [{ name: run, tools: [run], effect: allow, sandboxes: [process] }] }
`;
  const folder = await createFolder({ ...PROJECT, "sandgate.yaml": yaml });
  const { code, stdout, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
  return { code, stdout, stderr: stderr.replaceAll(`${folder}/`, "") };
}

describe("check reads a tool's process, and", () => {
  test.each([
    "args: [-n, --, { argument: /path }]",
    "input: json",
    "input: none",
    "input: { argument: /text }",
    "output: json",
    "output: text",
    "output: completion",
    "output: completion, failOnExit: true",
    "env: { GIT_CONFIG_NOSYSTEM: '1' }",
    "cwd: src",
    "output: completion, persistentShell: { when: { argument: /keep }, command: { argument: /command } }",
    "cwd: { argument: /folder }",
    "killGrace: 5s",
    "killGrace: 200",
  ])("accepts %s", async (program) => {
    expect(await check(program)).toMatchObject({ code: 0, stderr: "" });
  });

  test.each([
    ["args: -n", /:5:36: must be a list, not a string/],
    ["args: [1]", /:5:37: must be a text or \{ argument: pointer \}/],
    ["args: [{ arg: /path }]", /:5:37: must be a text or \{ argument: pointer \}/],
    ["args: [{ argument: path }]", /process\.args must be a list of strings without NUL and of \{ argument/],
    ["input: text", /:5:37: must be json, none or \{ argument: pointer \}/],
    ["output: lines", /:5:38: must be one of json, text, completion/],
    ["failOnExit: true", /process\.failOnExit needs output: "completion"/],
    ["failOnExit: often", /:5:42: must be true or false, not a string/],
    ["env: { A-B: x }", /process\.env must be an object of variables without NUL/],
    ["env: { A: 1 }", /:5:40: must be a string, not a number/],
    ["cwd: ''", /process\.cwd must be the path of a directory/],
    ["cwd: [src]", /:5:35: must be a text or \{ argument: pointer \}/],
    ["output: completion, persistentShell: true", /must be a map/],
    ["output: completion, keptShell: true", /unknown key 'keptShell': write 'persistentShell'$/m],
    ["killGrace: soon", /:5:41: must be a duration such as/],
    ["killGrace: 61s", /process\.killGraceMs must be an integer from 0 to 60000/],
    ["killGraceMs: 10", /unknown key 'killGraceMs': did you mean 'killGrace'\?/],
  ])("refuses %s", async (program, problem) => {
    const { code, stderr } = await check(program);
    expect(stderr).toMatch(problem);
    expect(code).toBe(2);
  });
});
