import { expect, test } from "vitest";
import { suggest } from "../../src/base/unknown-names.ts";

test("suggest returns the closest name, but only an obvious one", () => {
  const names = ["sandboxes", "limits", "effect", "tools"];
  expect(suggest("sandboxs", names)).toBe("sandboxes");
  expect(suggest("Limits", names)).toBe("limits");
  expect(suggest("limtis", names)).toBe("limits");
  expect(suggest("too", names)).toBeUndefined();
  expect(suggest("colour", names)).toBeUndefined();
  expect(suggest("x".repeat(100_000), names)).toBeUndefined();
});

test("suggest counts the letters of a name in lower case", () => {
  expect(suggest("i\u0307stanbul", ["\u0130stanbul"])).toBe("\u0130stanbul");
});
