import { expect, test } from "vitest";
import { suggest } from "../../src/config/suggest.ts";

test("a misspelling suggests the nearest name, and only an obvious one", () => {
  const names = ["sandboxes", "limits", "effect", "tools"];
  expect(suggest("sandboxs", names)).toBe("sandboxes");
  expect(suggest("Limits", names)).toBe("limits");
  expect(suggest("limtis", names)).toBe("limits");
  expect(suggest("too", names)).toBeUndefined();
  expect(suggest("colour", names)).toBeUndefined();
  expect(suggest("x".repeat(100_000), names)).toBeUndefined();
});
