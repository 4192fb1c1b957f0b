import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import type { TrackedFields } from "../../../src/policy/call-history.ts";
import { ProvenanceLedger } from "../../../src/sessions/provenance.ts";

const emails = { tool: "list_contacts", field: "/email" };
const found = { lookup: "search_files", field: "/id" };
const passport = { tool: "get_profile", field: "/passport" };
const tracked: TrackedFields = { sources: [emails, found], contents: [passport] };

function ledger(...words: readonly string[]): ProvenanceLedger {
  const created = new ProvenanceLedger(() => tracked);
  for (const text of words) created.observeUserText(text);
  return created;
}

function call(toolName: string, input: JsonObject, output: JsonValue) {
  return { toolName, arguments: input, output };
}

describe("The provenance of a session", () => {
  test("has the words of all turns, and knows nothing of a user who said nothing", () => {
    const spoken = ledger("Write to ann@x.example.", "And pay 12.50 to DE02 1203 0000 0000 2020 51.");
    expect(spoken.isFrom("user", "ann@x.example")).toBe(true);
    expect(spoken.isFrom("user", 12.5)).toBe(true);
    expect(spoken.isFrom("user", "eve@x.example")).toBe(false);
    expect(spoken.isReferenceFrom("user", "DE02120300000000202051")).toBe(true);
    expect(spoken.isReferenceFrom("user", "eve@x.example")).toBe(false);
    expect(ledger().isFrom("user", "ann@x.example")).toBeUndefined();
  });

  test("learns fields that are tracked, of the tool that they are tracked of", () => {
    const seen = ledger("hi");
    seen.observe(call("list_contacts", {}, [{ email: "ann@x.example", note: "eve@x.example" }]));
    seen.observe(call("read_mail", {}, [{ email: "eve@x.example" }]));
    expect(seen.isFrom(emails, "ann@x.example")).toBe(true);
    expect(seen.isReferenceFrom(emails, "ann@x.example")).toBe(true);
    expect(seen.isFrom(emails, "eve@x.example")).toBe(false);
    expect(seen.isFrom(found, "ann@x.example")).toBe(false);
    expect(seen.isFrom({ tool: "read_mail", field: "/email" }, "eve@x.example")).toBeUndefined();
  });

  test("keeps numbers and texts apart", () => {
    const seen = new ProvenanceLedger(() => ({ sources: [{ tool: "t", field: "" }], contents: [] }));
    seen.observe(call("t", {}, [5, "6"]));
    expect([5, "5", 6, "6"].map((value) => seen.isFrom({ tool: "t", field: "" }, value))).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  test.each([
    ["all of whose arguments the user said", { query: "tax report", year: 2023 }, true],
    ["with null and flags besides", { query: "tax report", owner: null, exact: true }, true],
    ["one of whose arguments the user did not say", { query: "tax report", owner: "eve" }, false],
    ["with an empty query, which finds everything", { query: "" }, false],
    ["without arguments", {}, false],
  ])("learns what a lookup found %s: %j", (_kind, input, isLearnt) => {
    const seen = ledger("Share the tax report of 2023.");
    seen.observe(call("search_files", input, [{ id: "7" }]));
    expect(seen.isFrom(found, "7")).toBe(isLearnt);
  });

  test("does not learn what the model had given to a tool before", () => {
    const seen = ledger("Add ann@x.example to my contacts.");
    seen.noteArguments({
      email: " EVE@x.example",
      more: ["mail to mallory@x.example, soon"],
      list: "a\n- Oscar",
    });
    seen.noteArguments({ email: "ann@x.example" });
    seen.observe(
      call("list_contacts", {}, [
        { email: "ann@x.example" },
        { email: "eve@x.example" },
        { email: "mallory@x.example" },
        { email: "bob@x.example" },
        { email: "Oscar" },
      ]),
    );
    expect(seen.isFrom(emails, "ann@x.example")).toBe(true);
    expect(seen.isFrom(emails, "bob@x.example")).toBe(true);
    expect(seen.isFrom(emails, "eve@x.example")).toBe(false);
    expect(seen.isReferenceFrom(emails, "eve@x.example")).toBe(false);
    expect(seen.isFrom(emails, "mallory@x.example")).toBe(false);
    expect(seen.isReferenceFrom(emails, "mallory@x.example")).toBe(false);
    expect(seen.isFrom(emails, "Oscar")).toBe(false);
  });

  test("keeps what it learnt before the model gave it to a tool", () => {
    const seen = ledger("hi");
    seen.observe(call("list_contacts", {}, [{ email: "ann@x.example" }]));
    seen.noteArguments({ to: "ann@x.example" });
    seen.observe(call("list_contacts", {}, [{ email: "ann@x.example" }]));
    expect(seen.isFrom(emails, "ann@x.example")).toBe(true);
  });

  test("finds values of fields in texts, in whatever case and with whatever punctuation", () => {
    const seen = ledger("hi");
    expect(seen.holdsValueOf(passport, "X44719920")).toBe(false);
    seen.observe(call("get_profile", {}, { passport: "X 4471-9920", name: "Ann" }));
    for (const text of [
      "X 4471-9920",
      "my passport: x44719920.",
      "x.4.4.7.1.9.9.2.0",
      "Ｘ４４７１９９２０",
      "x4471\u200b9920",
    ]) {
      expect(seen.holdsValueOf(passport, text)).toBe(true);
    }
    expect(seen.holdsValueOf(passport, "Ann, X 4471")).toBe(false);
  });

  test("looks for short values as words only", () => {
    const seen = ledger("hi");
    seen.observe(call("get_profile", {}, { passport: "99" }));
    expect(seen.holdsValueOf(passport, "it is 99.")).toBe(true);
    expect(seen.holdsValueOf(passport, "it is 1995")).toBe(false);
  });
});

describe("At its bounds, provenance is unknown", () => {
  test("for values when too many were learnt", () => {
    const seen = new ProvenanceLedger(() => tracked, { most: 3 });
    seen.observe(
      call(
        "list_contacts",
        {},
        [1, 2, 3, 4, 5].map((index) => ({ email: `a${index}` })),
      ),
    );
    expect(["a1", "a3", "a4", "eve"].map((value) => seen.isFrom(emails, value))).toEqual([
      true,
      true,
      undefined,
      undefined,
    ]);
  });

  test("for values when the model gave too many others to tools", () => {
    const seen = new ProvenanceLedger(() => tracked, { most: 3 });
    seen.noteArguments({ list: ["a", "b", "c", "d"] });
    seen.noteArguments({ list: ["eve"] });
    seen.observe(call("list_contacts", {}, [{ email: "eve" }]));
    expect(seen.isFrom(emails, "eve")).toBeUndefined();
  });

  test("for values when a text has too many lines", () => {
    const seen = new ProvenanceLedger(() => tracked, { most: 100 });
    seen.noteArguments({ text: Array.from({ length: 1_000 }, (_, index) => `line ${index}`).join("\n") });
    expect(seen.isFrom(emails, "line 999")).toBeUndefined();
  });

  test("for values when a call's arguments are too long to look at", () => {
    const seen = new ProvenanceLedger(() => tracked);
    seen.noteArguments({ text: `${"x".repeat(1_100_000)} eve@x.example` });
    seen.observe(call("list_contacts", {}, [{ email: "eve@x.example" }]));
    expect(seen.isFrom(emails, "eve@x.example")).toBeUndefined();
  });

  test("not for a value at the end of long arguments", () => {
    const seen = new ProvenanceLedger(() => tracked);
    seen.noteArguments({ text: `${"x ".repeat(400_000)} eve@x.example` });
    seen.observe(call("list_contacts", {}, [{ email: "eve@x.example" }, { email: "ann@x.example" }]));
    expect(seen.isFrom(emails, "eve@x.example")).toBe(false);
    expect(seen.isReferenceFrom(emails, "eve@x.example")).toBe(false);
    expect(seen.isFrom(emails, "ann@x.example")).toBe(true);
  });

  test("for words when a text is too long, or texts are too many", () => {
    const long = ledger("write to ann", "x".repeat(65_537));
    expect([long.isFrom("user", "ann"), long.isFrom("user", "eve")]).toEqual([true, undefined]);
    const many = ledger(
      "write to eve",
      ...Array.from({ length: 5 }, () => "y".repeat(60_000)),
      "write to ann",
    );
    expect([many.isFrom("user", "ann"), many.isFrom("user", "eve")]).toEqual([true, undefined]);
  });

  test("for words beyond 262,144 characters, and for values beyond 50,000", () => {
    const first = "write to eve";
    const most = [first, ...Array.from({ length: 4 }, () => "y".repeat(65_533))];
    expect(most.join("")).toHaveLength(262_144);
    expect(ledger(...most).isFrom("user", "eve")).toBe(true);
    expect(ledger(...most, "y").isFrom("user", "eve")).toBeUndefined();
    const learnt = (count: number): ProvenanceLedger => {
      const seen = ledger("hi");
      const contacts = Array.from({ length: count }, (_, index) => ({ email: `a${index}` }));
      seen.observe(call("list_contacts", {}, contacts));
      return seen;
    };
    expect(learnt(50_000).isFrom(emails, "a49999")).toBe(true);
    expect(learnt(50_000).isFrom(emails, "eve")).toBe(false);
    expect(learnt(50_001).isFrom(emails, "a50000")).toBeUndefined();
  });

  test("for contents when they are too long", () => {
    const seen = ledger("hi");
    seen.observe(call("get_profile", {}, { passport: "x".repeat(300_000) }));
    seen.observe(call("get_profile", {}, { passport: "X44719920" }));
    expect(seen.holdsValueOf(passport, "X44719920")).toBe(true);
    expect(seen.holdsValueOf(passport, "hello")).toBeUndefined();
  });

  test.each<[string, JsonObject, JsonValue, string | number]>([
    ["as the name of a member", { people: { "eve@x.example": "Eve" } }, "eve@x.example", "eve@x.example"],
    ["as a number, and that a tool returns as a text", { id: 4711 }, "4711", "4711"],
    ["as a text, and that a tool returns as a number", { id: "4711.0" }, 4711, 4711],
  ])("does not learn what the model passed %s", (_kind, input, output, value) => {
    const seen = ledger("hi");
    seen.noteArguments(input);
    seen.observe(call("list_contacts", {}, [{ email: output }]));
    expect(seen.isFrom(emails, value)).toBe(false);
  });

  test("when the session had calls before", () => {
    const late = new ProvenanceLedger(() => tracked, { isLate: true });
    expect(late.holdsValueOf(passport, "E1234567")).toBeUndefined();
    expect(late.isFrom(emails, "ann@x.example")).toBeUndefined();
    late.observeUserText("Write to Bob.");
    expect(late.isFrom("user", "Ann")).toBeUndefined();
    expect(late.isFrom("user", "Bob")).toBe(true);
    late.observe(call("list_contacts", {}, [{ email: "ann@x.example" }]));
    expect(late.isFrom(emails, "ann@x.example")).toBe(true);
  });

  test("when a field is tracked only after its tool was called", () => {
    let now: TrackedFields = { sources: [], contents: [] };
    const seen = new ProvenanceLedger(() => now);
    seen.observe(call("get_profile", {}, { passport: "E1234567" }));
    now = tracked;
    expect(seen.holdsValueOf(passport, "E1234567")).toBeUndefined();
    expect(seen.isFrom(emails, "ann@x.example")).toBe(false);
    seen.observe(call("get_profile", {}, { passport: "F1234567" }));
    expect(seen.holdsValueOf(passport, "F1234567")).toBe(true);
    expect(seen.holdsValueOf(passport, "E1234567")).toBeUndefined();
  });

  test("looks for short values in whatever case", () => {
    const seen = ledger("hi");
    seen.observe(call("get_profile", {}, { passport: "E12" }));
    expect(seen.holdsValueOf(passport, "it is e12")).toBe(true);
    expect(seen.holdsValueOf(passport, "it is １２Ｅ or Ｅ１２")).toBe(true);
    expect(seen.holdsValueOf(passport, "it is e123")).toBe(false);
  });
});
