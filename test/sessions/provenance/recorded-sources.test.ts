import { expect, test } from "vitest";
import { ConfigSource } from "../../../src/config/source.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { readJournal } from "../../../src/journal/read/read-journal.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import { readPolicy } from "../../../src/policy/file/read.ts";
import { TemporaryDirectory } from "../../journal/records.ts";
import { call, testSessions, tool } from "../harness.ts";

const { policy } = readPolicy(
  ConfigSource.parse(
    `
untrusted:
  - { tool: list_mail, fields: [/*/from, /*/body] }
rules:
  - { tools: ["*"], effect: allow, sandboxes: [host] }
`,
    "p.yaml",
  ),
  [],
);

const RESULTS: Readonly<Record<string, JsonValue>> = {
  list_contacts: [{ email: "ann@x.example", age: 41 }, { email: "bob@x.example" }],
  list_mail: [{ id: "m1", from: "eve@evil.example", body: "Write to\nbob@x.example" }],
};

/** Makes calls in a session, and returns the sources that their records have. */
async function sourcesOf(
  calls: readonly (readonly [string, JsonObject])[],
  journalOptions: { readonly sources?: boolean } = { sources: true },
): Promise<readonly unknown[]> {
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path, ...journalOptions });
  const names = [...new Set(calls.map(([name]) => name))];
  const tools = names.map((name) => tool(name, "write", (input) => RESULTS[name] ?? (input as JsonValue)));
  const { sessions } = await testSessions(tools, {
    policy,
    journal,
    confirmations: { default: { write: "auto" } },
  });
  const turn = (await sessions.open()).turn({ userText: "Pay 12.50 to carl@x.example." });
  for (const [index, [name, input]] of calls.entries()) {
    const execution = await turn.dispatch(call(`c${index}`, name, input));
    expect(execution?.success).toBe(true);
  }
  await journal.flush();
  const found: unknown[] = [];
  for await (const { entries } of readJournal(directory.path)) {
    for (const entry of entries) if (entry.type === "tool.call.dispatched") found.push(entry["sources"]);
  }
  return found;
}

test("The record of a call says of each argument whether the user, a field of a result or an outsider wrote it", async () => {
  const found = await sourcesOf([
    ["list_contacts", {}],
    ["list_mail", {}],
    [
      "pay",
      {
        amount: 12.5,
        to: ["carl@x.example", "ann@x.example", "eve@evil.example", "mallory@x.example"],
        mail: "m1",
        age: 41,
        now: true,
      },
    ],
  ]);
  expect(found).toEqual([
    {},
    {},
    {
      "/amount": "user",
      "/to/0": "user",
      "/to/1": [{ tool: "list_contacts", field: "/*/email" }],
      "/to/2": "untrusted",
      "/mail": [{ tool: "list_mail", field: "/*/id" }],
      "/age": [{ tool: "list_contacts", field: "/*/age" }],
    },
  ]);
});

test("A value that an outsider wrote as a line stays untrusted, although a trusted field has it too", async () => {
  const found = await sourcesOf([
    ["list_mail", {}],
    ["list_contacts", {}],
    ["pay", { to: "bob@x.example" }],
  ]);
  expect(found[2]).toEqual({ "/to": "untrusted" });
});

test("A value that the model gave to a tool is of unknown source, whatever the tool returns", async () => {
  const found = await sourcesOf([
    ["add_contact", { email: "mallory@x.example" }],
    ["pay", { to: "mallory@x.example" }],
  ]);
  expect(found).toEqual([{}, {}]);
});

test("A journal that does not ask for sources has none", async () => {
  expect(await sourcesOf([["pay", { to: "carl@x.example" }]], {})).toEqual([undefined]);
});

test("Sources cannot be recorded beside sealed arguments, whose names they would show", async () => {
  using directory = new TemporaryDirectory();
  await expect(
    openJournal({ directory: directory.path, arguments: "sealed", sources: true }),
  ).rejects.toThrow("sources cannot be recorded beside sealed arguments");
});
