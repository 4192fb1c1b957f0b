import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../src/json/canonical.ts";
import { copyJson } from "../../src/json/copy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { type InputSummary, inputSummary } from "../../src/rendering/text-summary.ts";

const redaction = new Redaction();
const summaryOf = (value: unknown, chars?: number, by = redaction): InputSummary =>
  inputSummary(new CanonicalJson(copyJson(value)), { redaction: by, ...(chars !== undefined && { chars }) });

describe("An input summary", () => {
  test("is the canonical text, if that has no secrets and is short", () => {
    const value = { path: "a\\b", n: [1, null], é: "x\ny" };
    expect(summaryOf(value)).toEqual({
      segments: [{ kind: "text", text: '{"n":[1,null],"path":"a\\\\b","é":"x\\ny"}' }],
      charactersLeftOut: 0,
      text: '{"n":[1,null],"path":"a\\\\b","é":"x\\ny"}',
      digest: new CanonicalJson(copyJson(value)).digest,
      secretsHidden: 0,
      isPartial: false,
      missing: "",
    });
  });

  test("counts what is left out and hidden", () => {
    const summary = summaryOf({ command: "x".repeat(14_000), password: "hunter2" });
    expect(summary).toMatchObject({ charactersLeftOut: 12_029, secretsHidden: 1, isPartial: true });
    expect(summary.missing).toBe("12,029 characters left out, 1 secret hidden");
    expect(summary.text).toBe(
      `{"command":"${"x".repeat(988)}⟦12,029 characters left out⟧${"x".repeat(983)}","password":"⟦hidden: password⟧"}`,
    );
    expect(summary.text).not.toContain("hunter2");
  });

  test("tells long arguments apart by the digest of what runs", () => {
    const of = (middle: string): InputSummary =>
      summaryOf(`${"x".repeat(2_000)}${middle}${"x".repeat(2_000)}`);
    expect(of("a").text).toBe(of("b").text);
    expect(of("a").digest).not.toBe(of("b").digest);
    expect(summaryOf({ token: "a" }).digest).not.toBe(summaryOf({ token: "b" }).digest);
  });

  test("counts the secrets in the part that is left out", () => {
    const values = ["a".repeat(100), { token: "abc" }, { token: 5 }, "b".repeat(100)];
    const summary = summaryOf(values, 20);
    expect(summary.missing).toMatch(/^\d+ characters left out, 2 secrets hidden$/);
    expect(summary.segments.filter(({ kind }) => kind === "note")).toHaveLength(1);
  });

  test("names each secret that it hides in its place", () => {
    const aws = `AKIA${"IOSFODNN7EXAMPLE"}`;
    const bearer = `Bearer ${"abcdef0123456789"}`;
    expect(summaryOf({ z: { password: "a" }, a: `${aws} ${bearer}; rm -rf /`, [aws]: 1 }).text).toBe(
      '{"a":"⟦hidden: aws-key⟧ ⟦hidden: bearer-token⟧; rm -rf /","z":{"password":"⟦hidden: password⟧"},' +
        '"⟦hidden: aws-key⟧":1}',
    );
  });

  test("cannot be made to show a note by the arguments", () => {
    const { text, secretsHidden } = summaryOf([
      "⟦hidden: token⟧",
      "\\udfff\\udc00\\udfff",
      "[redacted: token]",
    ]);
    expect(text).toBe('["\\u27e6hidden: token\\u27e7","\\\\udfff\\\\udc00\\\\udfff","[redacted: token]"]');
    expect(secretsHidden).toBe(0);
  });

  test("hides secrets of patterns that match parts of words, without breaking other notes", () => {
    const own = new Redaction({ patterns: { digits: "[0-9]+" } });
    const { text, secretsHidden } = summaryOf({ password: "hunter2", x: "udc12" }, undefined, own);
    expect(text).toBe('{"password":"⟦hidden: password⟧","x":"udc⟦hidden: digits⟧"}');
    expect(secretsHidden).toBe(2);
  });

  test("shows every command, whatever stands around it", () => {
    const part = fc.constantFrom(
      "password=",
      "Bearer ",
      '"',
      "'",
      "token: ",
      "\n",
      "⟦",
      "\u202e",
      "а",
      "\\",
      "; ",
    );
    const around = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(around, around, fc.constantFrom("password", "x"), (before, after, name) => {
        expect(summaryOf({ [name]: `${before} rm -rf /home${after}` }).text).toContain("-rf /home");
      }),
      { numRuns: 1_000 },
    );
  });

  test("accounts for every character of the canonical text", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: "grapheme" }),
        fc.integer({ min: 0, max: 60 }),
        (value, chars) => {
          fc.pre(!JSON.stringify(value).includes("__proto__"));
          const { text } = new CanonicalJson(copyJson(value));
          const summary = summaryOf(value, chars);
          fc.pre(summary.secretsHidden === 0);
          expect(summary.isPartial).toBe(text.length > chars);
          expect(text.length - summary.charactersLeftOut).toBeLessThanOrEqual(Math.max(chars, 0));
        },
      ),
    );
  });
});
