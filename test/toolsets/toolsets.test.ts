import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { DuplicateToolError } from "../../src/engine/registry-errors.ts";
import { registerToolset } from "../../src/toolsets/register-toolset.ts";
import { type ToolsetName, toolsOf } from "../../src/toolsets/toolsets.ts";
import { recordEvents } from "../engine/helpers.ts";
import { ToolsetScene } from "./toolset-scene.ts";
import { TOOLSET_OPTIONS, TOOLSET_TABLE } from "./toolset-table.ts";

function registryOf(name: ToolsetName): ToolRegistry {
  const registry = new ToolRegistry({ requireSideEffects: true });
  for (const tool of toolsOf(name, TOOLSET_OPTIONS[name])) registry.register(tool);
  return registry;
}

describe.each(Object.entries(TOOLSET_TABLE))("The toolset %s", (name, rows) => {
  test("has exactly the tools of the table", () => {
    expect(registryOf(name as ToolsetName).names).toEqual(rows.map(({ tool }) => tool));
  });

  test.each(rows)("has $tool with the class $sideEffects and the level $confirm", (row) => {
    const tool = registryOf(name as ToolsetName).get(row.tool);
    expect(tool.sideEffects).toBe(row.sideEffects);
    expect(tool.confirm).toBe(row.confirm);
    expect(tool.alwaysConfirm).toBe(row.alwaysConfirm);
  });

  test.each(rows)("tells the class of $tool when a call of it starts", async (row) => {
    await using scene = await ToolsetScene.open(name as ToolsetName);
    const { events, seen } = recordEvents();
    await scene.call(row.tool, row.arguments, { events });
    const { tool: toolName, sideEffects } = row;
    expect(seen).toContainEqual(expect.objectContaining({ type: "tool.started", toolName, sideEffects }));
  });
});

describe("registerToolset", () => {
  test("registers all tools under names with the prefix", () => {
    const registry = new ToolRegistry();
    registerToolset(registry, "basic", { prefix: "my_" });
    expect(registry.names).toEqual(["my_Echo", "my_Read", "my_Write"]);
  });

  test("registers nothing if the name of one of the tools is taken", () => {
    const registry = new ToolRegistry();
    registry.register({ name: "Write", description: "", inputSchema: {}, host: () => null });
    expect(() => registerToolset(registry, "basic")).toThrow(DuplicateToolError);
    expect(registry.names).toEqual(["Write"]);
  });

  test("throws for a toolset that does not exist", () => {
    expect(() => registerToolset(new ToolRegistry(), "constructor" as ToolsetName)).toThrow(
      "There is no toolset 'constructor'",
    );
  });
});
