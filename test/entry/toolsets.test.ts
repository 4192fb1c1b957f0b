import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/toolsets exports exactly these names", async () => {
  expect(await exportedNames("toolsets")).toEqual({
    values: ["registerBasicTools", "registerToolset"],
    types: [
      "Diagnostic",
      "DiagnosticsOptions",
      "GitOptions",
      "MemoryOptions",
      "SearchToolsetOptions",
      "SettingsOptions",
      "ShellOptions",
      "ToolsetName",
      "ToolsetNaming",
      "ToolsetOptions",
      "WebOptions",
    ],
  });
});
