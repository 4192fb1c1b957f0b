import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/cedar exports exactly these names", async () => {
  expect(await exportedNames("cedar")).toEqual({
    values: ["CedarPolicy", "cedarSchemaText", "openCedarPolicy"],
    types: ["CedarPolicyOptions"],
  });
});
