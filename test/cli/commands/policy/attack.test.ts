import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate } from "../../sandgate.ts";

const TOOLS: Readonly<Record<string, readonly [effects: string, ...arguments_: string[]]>> = {
  list_mail: ["read"],
  read_file: ["read", "path"],
  list_contacts: ["read"],
  add_contact: ["write", "email"],
  write_file: ["write", "path", "content"],
  run: ["execute", "command"],
  run_tests: ["execute"],
  send_mail: ["network", "to", "body"],
  fetch: ["network", "url"],
  post_status: ["network", "text"],
  pay: ["network", "recipient", "amount"],
};

function configOf(rules: string): string {
  const tools = Object.entries(TOOLS).map(([name, [effects, ...names]]) => {
    const properties = Object.fromEntries(names.map((each) => [each, { type: "string" }]));
    const inputSchema = JSON.stringify({ type: "object", properties, required: names });
    return `  - { name: ${name}, description: Does it, sideEffects: ${effects}, inputSchema: ${inputSchema}, host: { module: tools.mjs, export: run, thread: false } }`;
  });
  return `tools:\n${tools.join("\n")}\npolicy:\n  untrusted: [{ tool: list_mail }]\n  rules:\n${rules}\n`;
}

function rule(tools: string, more = ""): string {
  return `    - { tools: [${tools}], effect: allow, sandboxes: [host]${more && `, ${more}`} }`;
}

const READING = rule("list_mail, list_contacts, read_file");

async function attackOn(rules: readonly string[], end: string): Promise<readonly [number, string, string]> {
  const folder = await createFolder({
    "sandgate.yaml": configOf([READING, ...rules].join("\n")),
    "tools.mjs": "export const run = () => 1;",
  });
  const config = join(folder, "sandgate.yaml");
  const { code, stdout, stderr } = await sandgate(["policy", "attack", "--bad", end, "-c", config]);
  expect(stderr).not.toContain("error");
  return [code, stdout, config];
}

/** Rules beside those that allow reading, which have a hole. */
const HOLES: readonly (readonly [end: string, what: string, steps: number, rules: readonly string[]])[] = [
  ["untrusted-to-execution", "a shell", 2, [rule("run")]],
  [
    "untrusted-to-execution",
    "a shell after a prefix",
    2,
    [rule("run", 'when: { /command: { not: { prefix: "rm" } } }')],
  ],
  ["untrusted-to-execution", "files that a fixed command runs", 3, [rule("write_file"), rule("run_tests")]],
  [
    "untrusted-to-execution",
    "files below a folder that a fixed command runs",
    3,
    [rule("write_file", 'when: { /path: { glob: "src/**" } }'), rule("run_tests")],
  ],
  ["secret-to-outsider", "mails to anybody", 3, [rule("send_mail")]],
  ["secret-to-outsider", "any address on the web", 3, [rule("fetch")]],
  [
    "secret-to-outsider",
    "a prefix that ends within a host",
    3,
    [rule("fetch", 'when: { /url: { prefix: "https://api.example" } }')],
  ],
  [
    "secret-to-outsider",
    "a pattern without an end",
    3,
    [rule("send_mail", 'when: { /to: { regex: "@x[.]example" } }')],
  ],
  ["lethal-trifecta", "a status that everybody reads", 3, [rule("post_status")]],
  [
    "lethal-trifecta",
    "mails to the user's own address",
    3,
    [rule("send_mail", "when: { /to: { from: [user] } }")],
  ],
  ["own-rules", "any file", 1, [rule("write_file")]],
  [
    "own-rules",
    "every file but one",
    1,
    [rule("write_file", 'when: { /path: { not: { equals: "policy.yaml" } } }')],
  ],
  ["money-to-strangers", "payments to anybody", 2, [rule("pay")]],
  [
    "money-to-strangers",
    "payments to anybody of an amount that the user said",
    2,
    [rule("pay", "when: { /amount: { from: [user] } }")],
  ],
  [
    "money-to-strangers",
    "payments after a look at the contacts",
    3,
    [rule("pay", "history: [{ after: [list_contacts], in: session }]")],
  ],
  ["money-to-strangers", "payments if the user asks for one", 2, [rule("pay", "asked: '\\b(pay|send)\\b'")]],
];

/** Rules without a hole. */
const SOUND: readonly (readonly [end: string, what: string, ...rules: string[]])[] = [
  [
    "untrusted-to-execution",
    "fixed commands",
    rule("run", "when: { /command: { oneOf: [ls, pwd] } }"),
    rule("run_tests"),
  ],
  ["untrusted-to-execution", "files, and nothing that runs them", rule("write_file")],
  ["untrusted-to-execution", "what the user said", rule("run", "when: { /command: { from: [user] } }")],
  [
    "secret-to-outsider",
    "mails to people whom the user named",
    rule("send_mail", "when: { /to: { from: [user] } }"),
  ],
  [
    "secret-to-outsider",
    "mails to contacts",
    rule("send_mail", "when: { /to: { from: [{ tool: list_contacts, field: /*/email }] } }"),
  ],
  [
    "secret-to-outsider",
    "mails to contacts that the model can add",
    rule("send_mail", "when: { /to: { from: [{ tool: list_contacts, field: /*/email }] } }"),
    rule("add_contact"),
  ],
  ["secret-to-outsider", "one host", rule("fetch", 'when: { /url: { prefix: "https://api.example/" } }')],
  ["secret-to-outsider", "a domain", rule("send_mail", 'when: { /to: { regex: "@x[.]example$" } }')],
  ["lethal-trifecta", "a question", "    - { tools: [post_status], effect: ask, sandboxes: [host] }"],
  ["lethal-trifecta", "words of the user", rule("post_status", "when: { /text: { from: [user] } }")],
  ["own-rules", "files of a folder", rule("write_file", 'when: { /path: { glob: "src/**" } }')],
  [
    "own-rules",
    "a rule that denies",
    rule("write_file"),
    '    - { tools: [write_file], effect: deny, when: { /path: { glob: ["**/*.yaml"] } } }',
  ],
  [
    "money-to-strangers",
    "payments to whom the user named",
    rule("pay", "when: { /recipient: { from: [user] } }"),
  ],
  [
    "money-to-strangers",
    "payments to two accounts",
    rule("pay", "when: { /recipient: { oneOf: [DE1, DE2] } }"),
  ],
  ["money-to-strangers", "questions", "    - { tools: [pay], effect: ask, sandboxes: [host] }"],
];

describe("sandgate policy attack", () => {
  test.each(HOLES)("finds %s: %s, in %i steps, as a test that runs", async (end, _, steps, rules) => {
    const [code, stdout, config] = await attackOn(rules, end);
    expect([code, stdout.match(/step \d+ of (\d+)/)?.[1]]).toEqual([1, String(steps)]);
    const cases = join(config, "../attack.yaml");
    await writeFile(cases, stdout);
    expect(await sandgate(["policy", "test", cases, "-c", config])).toMatchObject({
      code: 0,
      stdout: `${steps} cases are decided as expected\n`,
    });
  });

  test.each(SOUND)("finds no %s: %s", async (end, _, ...rules) => {
    const [code, stdout] = await attackOn(rules, end);
    expect(stdout).toMatch(`# ${end}: none within the model\n# The model leaves out: `);
    expect(code).toBe(0);
  });

  test("looks for every bad end by default", async () => {
    const folder = await createFolder({
      "sandgate.yaml": configOf(rule("none_of_them")).replace("none_of_them", "list_mail"),
      "tools.mjs": "export const run = () => 1;",
    });
    const { stdout } = await sandgate(["policy", "attack", "-c", join(folder, "sandgate.yaml")]);
    expect(stdout.match(/none within the model/g)?.length).toBe(5);
  });
});
