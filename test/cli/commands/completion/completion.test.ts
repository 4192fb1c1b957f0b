import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../../src/cli/run.ts";
import { createFolder, sandgate } from "../../sandgate.ts";

const { stdout: bash } = await sandgate(["completion", "bash"]);

/** Returns what bash completes each command line to, which ends where the cursor is. */
function completions(lines: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const calls = lines.map(
    (words) =>
      `COMP_WORDS=(sandgate ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _sandgate; echo "\${COMPREPLY[*]}"`,
  );
  const { stdout, stderr } = spawnSync("bash", ["-c", `${bash}\n${calls.join("\n")}`], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" ").filter((word) => word !== ""));
}

test("completes commands, options and choices in bash, and leaves other values to the names of files", () => {
  const cases: readonly (readonly [readonly string[], readonly string[]])[] = [
    [["che"], ["check"]],
    [["to"], ["tool"]],
    [["tool", "r"], ["run"]],
    [["tool", "run", "--in"], ["--input"]],
    [["tool", "run", "a.js", "--engine", ""], ["jco"]],
    [
      ["dispatch", "--format", "op"],
      ["openai", "openai-responses"],
    ],
    [["check", "-c", ""], []],
    [["check", "--config", "-"], []],
    [["tool", "run", "a"], []],
    [["unknown", "--"], []],
  ];
  const found = completions(cases.map(([line]) => line));
  expect(found).toEqual(cases.map(([, words]) => words));
});

test("completes every option of every command in bash", () => {
  const found = completions(COMMANDS.map(({ name }) => [...name.split(" "), "--"]));
  expect(found).toEqual(
    COMMANDS.map(({ options }) => [...Object.keys(options), "help"].map((option) => `--${option}`)),
  );
});

test("completes every option of every command in fish, with what it does", async () => {
  const { stdout } = await sandgate(["completion", "fish"]);
  for (const { name, options } of COMMANDS) {
    for (const [option, { help }] of Object.entries(options)) {
      const quoted = help.replaceAll("'", "\\'");
      const line = stdout
        .split("\n")
        .find((each) => each.includes(`'__sandgate_command ${name}' -l ${option} `));
      expect(line).toContain(`-d '${quoted}'`);
    }
  }
});

test.each(["zsh", "fish"])("has a script that %s accepts", async (shell) => {
  const { stdout } = await sandgate(["completion", shell]);
  if (spawnSync(shell, ["--version"]).error !== undefined)
    return console.warn(`The script of ${shell} is not parsed: ${shell} is not installed`);
  const folder = await createFolder({ script: stdout });
  expect(spawnSync(shell, ["-n", `${folder}/script`], { encoding: "utf8" })).toMatchObject({
    status: 0,
    stderr: "",
  });
});

test("refuses an unknown shell", async () => {
  expect(await sandgate(["completion", "bsh"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("SHELL must be one of bash, zsh, fish, not 'bsh': did you mean 'bash'?"),
  });
});
