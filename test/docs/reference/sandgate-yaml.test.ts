import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test, vi } from "vitest";
import { COMMAND, configPage, examplesIn } from "../../../scripts/reference/config-page.ts";
import { sectionsIn } from "../../../scripts/reference/schema-walk.ts";
import { parseDuration, parseSize } from "../../../src/base/units.ts";
// Inside: writes the page from the schema as the script does, to compare it with what is in docs.
import { configSchema } from "../../../src/cli/commands/schema.ts";
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
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
  /warning: (?:no tool '\S+' is registered|there is no such file or folder|this grant covers Sandgate's own files|every client is denied calls|no tool (?:has|runs in) '|no rule grants ')/;

/** The options of a config by their paths. Maps with the same keys are listed where the first of them is. */
function optionsIn(schema: JsonObject): ReadonlyMap<string, JsonObject> {
  const definitions = (schema["$defs"] ?? {}) as JsonObject;
  const found = new Map<string, JsonObject>();
  const places = new Map<string, string>();
  const visit = (given: JsonObject, path: string): void => {
    for (const section of sectionsIn(given, path, definitions)) {
      const keys = JSON.stringify(section.keys);
      if (places.has(keys)) continue;
      places.set(keys, section.path);
      for (const { name, schema: member } of section.keys) {
        const at = section.path === "" ? name : `${section.path}.${name}`;
        found.set(at, member);
        visit(member, at);
      }
    }
  };
  visit({ ...schema, anyOf: [], else: {} }, "");
  return found;
}

/** The options of the page: its entries, and the keys in the tables below their headings. */
function rowsOf(text: string): readonly string[] {
  let heading = "";
  return text.split("\n").flatMap((line) => {
    const [, level = "", title = ""] = /^(##+) `(.*)`$/.exec(line) ?? [];
    if (level !== "") heading = title;
    if (level === "##") return [title];
    const [, key] = /^\| (`[^`]+`|any other) \|/.exec(line) ?? [];
    return key === undefined ? [] : [`${heading}.${key === "any other" ? "NAME" : key.slice(1, -1)}`];
  });
}

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

  test("has every option of the schema once, and nothing else", () => {
    const options = [...optionsIn(configSchema()).keys()].sort();
    expect(options.length).toBeGreaterThan(250);
    expect([...rowsOf(page)].sort()).toEqual(options);
  });

  test("has only defaults that the loader would accept if they were written", () => {
    const defaults = [...optionsIn(configSchema())].filter(([, { default: value }]) => value !== undefined);
    expect(defaults.length).toBeGreaterThan(80);
    const ajv = new Ajv2020({ strict: false });
    const { $defs } = configSchema();
    const refused = defaults.filter(
      ([, schema]) => !ajv.validate({ ...schema, $defs }, schema["default"] as JsonValue),
    );
    expect(refused).toEqual([]);
    const durations = defaults.filter(([, { title }]) => title === "duration" || title === "size");
    for (const [name, { title, default: value }] of durations)
      expect([name, (title === "size" ? parseSize : parseDuration)(value as string)]).toEqual([
        name,
        expect.any(Number),
      ]);
  });

  test("has the options whose types are made from the same shapes: none is written down beside them", () => {
    const folder = new URL("src/cli/config/", ROOT);
    const written = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .filter((file) =>
        /^(?:export )?interface \w*Entry\b(?! extends Omit<PostgresOptions)/m.test(
          readFileSync(new URL(file, folder), "utf8"),
        ),
      );
    expect(written).toEqual([]);
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
