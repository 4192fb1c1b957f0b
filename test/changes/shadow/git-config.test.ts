import { expect, test } from "vitest";
import { freshConfig } from "../../../src/changes/shadow.ts";

const HEAD = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

test("keeps who commits and how files are read, and nothing else", () => {
  const config = [
    "[core]",
    "\trepositoryformatversion = 0",
    "\tfilemode = false",
    "\tfsmonitor = touch /tmp/x",
    "\thooksPath = /tmp/hooks",
    '[core "x"]',
    "\tautocrlf = true",
    "[include]",
    "\tpath = /etc/passwd",
    "[USER]",
    "\tname = Ada Lovelace",
    "\temail = ada@example.org",
    '[filter "x"] clean = touch /tmp/x',
    '[alias]\n\tst = "!touch /tmp/x"',
  ].join("\n");
  expect(freshConfig(config)).toBe(
    `${HEAD}[core]\n\tfilemode = "false"\n[user]\n\tname = "Ada Lovelace"\n[user]\n\temail = "ada@example.org"\n`,
  );
});

test.each(['a" [alias] x', "a\\", "a\u202eb", "a;b", '"quoted"'])("leaves out the name %j", (name) => {
  expect(freshConfig(`[user]\n\tname = ${name}\n`)).toBe(HEAD);
});

test.each([
  "[extensions]\n\tobjectFormat = sha256",
  "[core]\n\trepositoryformatversion = 1",
])("refuses a repository of another format: %j", (config) => expect(freshConfig(config)).toBeUndefined());
