import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { COMMAND, configPage, examplesIn } from "../../../scripts/reference/config-page.ts";
import { configSchema } from "../../../src/cli/commands/schema.ts";
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { createFolder, sandgate } from "../../cli/sandgate.ts";

const ROOT = new URL("../../../", import.meta.url);
const page = readFileSync(new URL("docs/sandgate-yaml.md", ROOT), "utf8");
const examples = examplesIn(readFileSync(new URL("scripts/reference/examples.yaml", ROOT), "utf8"));

/** What an example needs besides itself to be a whole config. */
const REST: Readonly<Record<string, string>> = {
  tools: `tools: [{ name: a, description: A, inputSchema: {}, sideEffects: none, quickjs: { source: "export default () => 1" } }]\n`,
  toolsets:
    "toolsets: [fs, search]\nserver: { sessions: true, workspaces: [.], credentials: [{ id: agent, token: { file: agent.token }, roles: [caller] }] }\n",
  policy: "policy: { rules: [] }\n",
};
const FILES = {
  "candidate.yaml": 'rules: [{ tools: ["*"], effect: deny }]\n',
  "tools.lock": '{ "lockVersion": 1, "tools": {}, "servers": {} }\n',
  "agent.token": "a".repeat(64),
  "ann.token": "b".repeat(64),
  "otlp.key": "c".repeat(64),
};

/** Warnings about what the config around an example would have: its tools, its folders and the people who are asked. */
const OF_A_PART =
  /warning: (?:no tool '\S+' is registered|there is no such file or folder|this grant covers files of Sandgate|every client is denied calls|no tool (?:has|runs in) '|no rule grants ')/;

describe("docs/sandgate-yaml.md", () => {
  test("says what the shapes say", () => {
    expect(page, `write it with: ${COMMAND}`).toBe(configPage(configSchema(), examples));
  });

  test("has headings for all its links", () => {
    const anchors = Array.from(page.matchAll(/^#+ (.*)$/gm), ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^a-z0-9_ -]/g, "")
        .replaceAll(" ", "-"),
    );
    const links = Array.from(page.matchAll(/\]\(#([^)]*)\)/g), ([, anchor]) => anchor);
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter((anchor) => !anchors.includes(anchor ?? ""))).toEqual([]);
  });

  test.each([...examples])("has an example of %s that the loader accepts", async (name, example) => {
    vi.stubEnv("ISSUES_TOKEN", "c".repeat(64)).stubEnv("EXECUTOR_TOKEN", "d".repeat(64));
    const needsTools = name === "tools" || name === "mcp" ? [] : [name === "policy" ? "toolsets" : "tools"];
    const rest = [...needsTools, "policy"].filter((each) => each !== name).map((each) => REST[each]);
    const folder = await createFolder({ ...FILES, "sandgate.yaml": example + rest.join("") });
    if (name === "mcp") {
      // sandgate check would connect to the servers.
      expect((await loadConfig(`${folder}/sandgate.yaml`)).problems).toEqual([]);
      return;
    }
    if (name === "lock") await sandgate(["mcp", "diff", "--accept", "--config", `${folder}/sandgate.yaml`]);
    const { code, stderr } = await sandgate(["check", "--config", `${folder}/sandgate.yaml`]);
    const problems = stderr.split("\n").filter((line) => line !== "" && !OF_A_PART.test(line));
    expect({ code, problems }).toEqual({ code: 0, problems: [] });
  });

  test("cannot be written while a key has no description, or an entry no example", () => {
    const schema: JsonObject = {
      properties: { a: { description: "A.", properties: { b: {} } }, c: { description: "C." } },
    };
    expect(() => configPage(schema, new Map([["a", "a: {}"]]))).toThrow(
      "without a description or an example: a.b, example of c",
    );
  });
});
