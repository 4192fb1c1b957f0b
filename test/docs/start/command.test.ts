import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { COMMANDS } from "../../../src/cli/run.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";
import { blocksOf } from "../snippets.ts";

const text = readFileSync("docs/command.md", "utf8");

describe("docs/command.md", () => {
  test("has every command in its table, and no other", () => {
    const [, table = ""] = /^\| to \| commands \|\n(.*?)\n\n/ms.exec(text) ?? [];
    const named = Array.from(table.matchAll(/`([a-z][a-z -]*)`/g), ([, name]) => name);
    expect(named.sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
  });

  test("leads from an empty folder to dispatched calls, and back to messages", async () => {
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    const [first = "", dispatching = ""] = blocksOf("docs/command.md", "sh");
    process.chdir(await createFolder({}));
    const run = async (line: string): ReturnType<typeof sandgate> => {
      const [words = "", file] = line.split(" < ");
      const stdin = file === undefined ? {} : { stdin: readFileSync(file) };
      const outcome = await sandgate(words.split(" ").slice(1), stdin);
      if (line === "sandgate init demo") process.chdir("demo");
      return outcome;
    };
    const lines = `${first}${dispatching}`.split("\n").filter((line) => line.startsWith("sandgate "));
    expect(lines).toHaveLength(6);
    const outcomes = [];
    for (const line of lines) outcomes.push(await run(line.replace("--format openai ", "")));
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(outcomes.at(-1)?.stdout).toContain('"role": "tool"');
  });
});
