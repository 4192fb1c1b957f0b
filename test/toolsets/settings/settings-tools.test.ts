import { expect, test } from "vitest";
import type { SettingsOptions } from "../../../src/toolsets/settings-tools.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { ToolsetScene } from "../toolset-scene.ts";

function settings(): { readonly values: Map<string, unknown>; readonly options: SettingsOptions } {
  const values = new Map<string, unknown>([["theme", "dark"]]);
  const set = (name: string, value: unknown): boolean => values.has(name) && Boolean(values.set(name, value));
  return {
    values,
    options: {
      get: (name) => values.get(name) as string | undefined,
      update: set,
      switchBackend: (name) => name === "fast",
    },
  };
}

test("settings are read and changed by the embedder's functions", async () => {
  const { values, options } = settings();
  await using scene = await ToolsetScene.open("settings", {}, options);
  expect(await scene.call("get_setting", { name: "theme" })).toMatchObject({ output: { value: "dark" } });
  expect(await scene.call("update_setting", { name: "theme", value: { name: "light" } })).toMatchObject({
    success: true,
  });
  expect(values.get("theme")).toEqual({ name: "light" });
  expect(await scene.call("switch_backend", { name: "fast" })).toMatchObject({ output: { name: "fast" } });
});

test.each([
  ["get_setting", { name: "volume" }, "There is no setting 'volume'"],
  ["update_setting", { name: "volume", value: 1 }, "There is no setting 'volume'"],
  ["switch_backend", { name: "slow" }, "There is no backend 'slow'"],
])("%s says that a name is unknown", async (tool, args, message) => {
  await using scene = await ToolsetScene.open("settings", {}, settings().options);
  expect(await scene.call(tool, args)).toMatchObject({
    error: { code: "validation_error", message, effect: "none" },
  });
});

test("the set is refused without its functions", () => {
  const { switchBackend: _, ...others } = settings().options;
  expect(() => toolsOf("settings", others as SettingsOptions)).toThrow(
    "The toolset 'settings' needs a function switchBackend",
  );
});
