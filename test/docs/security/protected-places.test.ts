import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROTECTED_PLACES } from "../../../src/workspace/protected-places.ts";

test("SECURITY.md lists exactly the protected places, with their lists and reasons", () => {
  const [, after = ""] = readFileSync("SECURITY.md", "utf8").split("<!-- protected-places -->");
  const rows = [...after.matchAll(/^\| (denied|asked) \| (.+?) \| (.+) \|$/gm)];
  const documented = rows.flatMap(([, list, reason, places = ""]) =>
    [...places.matchAll(/`([^`]+)`/g)].map(([, path]) => ({ path, list, reason })),
  );
  expect(documented.length).toBeGreaterThan(100);
  expect(documented).toEqual(PROTECTED_PLACES);
});
