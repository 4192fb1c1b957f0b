import { describe, expect, test } from "vitest";
import { checkScope } from "../../../src/sessions/confirmations/answer.ts";

const SCOPE = { tools: ["send_*"], when: { "/amount": { range: { max: 100 } } }, for: 3_600_000, calls: 100 };

describe("The scope of an approval", () => {
  test("is copied and frozen", () => {
    const given = structuredClone(SCOPE);
    const checked = checkScope(given, "send_money");
    given.tools[0] = "*";
    expect(checked).toEqual(SCOPE);
    expect(Object.isFrozen(checked) && Object.isFrozen(checked.tools) && Object.isFrozen(checked.when)).toBe(
      true,
    );
    expect(checkScope({ tools: ["a"], for: "session" }, "a")).toEqual({ tools: ["a"], for: "session" });
  });

  test.each([
    [null, "an approval must be an object"],
    [[], "an approval must be an object"],
    [{ ...SCOPE, extra: 1 }, "unknown member 'extra' in an approval"],
    [{ ...SCOPE, tools: [] }, /^in an approval, \/tools must/],
    [{ when: {}, for: "session" }, /^in an approval, \/tools must/],
    [{ ...SCOPE, tools: ["a b"] }, /^in an approval, \/tools\/0 must/],
    [{ ...SCOPE, tools: ["read_*"] }, "an approval must name the tool that was asked about"],
    [{ ...SCOPE, when: { amount: {} } }, /^in an approval, \/when/],
    [{ ...SCOPE, when: { "/amount": { range: { min: 2, max: 1 } } } }, /^in an approval, \/when/],
    [{ ...SCOPE, when: { "/to": { regex: "(" } } }, /^in an approval, \/when/],
    [{ ...SCOPE, for: "ever" }, /^an approval is for 'session', 'workspace' or .* not "ever"$/],
    [{ ...SCOPE, for: 0 }, /^an approval is for/],
    [{ ...SCOPE, for: 1e15 }, /^an approval is for/],
    [{ tools: ["send_*"] }, /^an approval is for/],
    [{ ...SCOPE, calls: 0 }, "the calls of an approval must be a whole number above 0"],
    [{ ...SCOPE, calls: 1.5 }, "the calls of an approval must be a whole number above 0"],
    [{ ...SCOPE, calls: Number.NaN }, /^an approval must be JSON/],
  ])("cannot be %j", (scope, problem) => {
    expect(() => checkScope(scope, "send_money")).toThrow(problem);
    expect(() => checkScope(scope, "send_money")).toThrow(TypeError);
  });
});
