import fc from "fast-check";
import { expect, test } from "vitest";
import { shown, toPrintableJson } from "../../src/rendering/shown.ts";

test("renders the values of a text as parts of one line, and Sandgate's own words as they are", () => {
  const inner = shown`the tool '${"a\nb"}'`;
  expect(inner.text).toBe("the tool 'a\\nb'");
  expect(shown`${inner} ran ${2} times\n`.text).toBe("the tool 'a\\nb' ran 2 times\n");
});

test("cuts the middle out of a long value", () => {
  const { text } = shown`said: ${"x".repeat(3_000)}`;
  expect(text).toBe(`said: ${"x".repeat(500)}⟦2,000 characters left out⟧${"x".repeat(500)}`);
});

test("serialises any value as JSON that shows what it is, and that programs read back", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const { text } = toPrintableJson(value);
      expect(text).not.toMatch(/(?!\n)[\p{C}\p{Default_Ignorable_Code_Point}]/u);
      expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(value));
    }),
  );
  expect(toPrintableJson(["pаypal\n\n\n\n\n\n", " ".repeat(99)]).text).toBe(
    `[\n  "p\\u0430ypal\\n\\n\\n\\n\\n\\n",\n  "${" ".repeat(99)}"\n]`,
  );
});
