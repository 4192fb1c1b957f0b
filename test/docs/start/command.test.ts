import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
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
    const folder = await createFolder({});
    const [first = "", dispatching = ""] = blocksOf("docs/command.md", "sh");
    const project = join(folder, "demo");
    const run = (line: string): ReturnType<typeof sandgate> => {
      const [words = "", file] = line.split(" < ");
      const argv = words
        .split(" ")
        .slice(1)
        .map((word) => {
          if (word === "demo") return project;
          return /\.(?:yaml|json)$/.test(word) ? join(project, word) : word;
        });
      return sandgate(argv, file === undefined ? {} : { stdin: readFileSync(join(project, file)) });
    };
    const lines = `${first}${dispatching}`.split("\n").filter((line) => line.startsWith("sandgate "));
    expect(lines).toHaveLength(6);
    const outcomes = [];
    for (const line of lines) outcomes.push(await run(line.replace("--format openai ", "")));
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(outcomes.at(-1)?.stdout).toContain('"role": "tool"');
  });
});
