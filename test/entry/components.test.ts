import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/components exports exactly these names", async () => {
  expect(await exportedNames("components")).toEqual({
    values: ["componentTools", "inspectComponent"],
    types: [
      "ComponentInspection",
      "ComponentTool",
      "ComponentTools",
      "ImportAuthority",
      "InspectedExport",
      "InspectedImport",
    ],
  });
});
