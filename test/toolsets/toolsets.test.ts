import { describe, expect, test } from "vitest";
import { DuplicateToolError } from "../../src/engine/registered-tool.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { sandboxesOf } from "../../src/tool/implementations/implementations.ts";
import type { Isolation, SandboxMode } from "../../src/tool/sandbox-mode.ts";
import {
  registerToolset,
  TOOLSET_NAMES,
  type ToolsetName,
  type ToolsetOptions,
  toolsOf,
} from "../../src/toolsets/toolsets.ts";
import { recordEvents } from "../engine/helpers.ts";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";
import { ToolsetScene, withIsolation } from "./toolset-scene.ts";
import { OTHER_OPTIONS, TOOLSET_OPTIONS, TOOLSET_TABLE } from "./toolset-table.ts";

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
  });

  test.each(
    startsOf(name as ToolsetName),
  )("tells the class of $tool when a call starts in $sandbox, with $isolation", async (start) => {
    const { row, tool: toolName, sandbox, isolation, options } = start;
    await using scene = await ToolsetScene.open(
      name as ToolsetName,
      { sandbox },
      options,
      withIsolation(isolation),
    );
    const { events, seen } = recordEvents();
    await scene.call(toolName, row.arguments, { events });
    const { sideEffects } = row;
    expect(seen.filter(({ type }) => type === "tool.started")).toEqual([
      expect.objectContaining({ toolName, sideEffects, grant: expect.objectContaining({ sandbox }) }),
    ]);
  });
});

test("calls of tools were started in every sandbox in which the toolsets have an implementation", () => {
  const modes = TOOLSET_NAMES.flatMap((name) => startsOf(name).map(({ sandbox }) => sandbox));
  expect([...new Set(modes)].toSorted()).toEqual([
    "host",
    ...(ISOLATIONS.length > 0 ? ["process"] : []),
    "quickjs",
    "remote",
  ]);
});

/** Every way in which calls of the tools of a set can start: with other options, in each sandbox, however it confines. */
function startsOf(name: ToolsetName) {
  const others = name in OTHER_OPTIONS ? [OTHER_OPTIONS[name]] : [];
  const prefixed = { ...TOOLSET_OPTIONS[name], prefix: "my_" };
  return [TOOLSET_OPTIONS[name], prefixed, ...others].flatMap((given) => {
    const options = given as ToolsetOptions[typeof name];
    const registered = toolsOf(name, options);
    return TOOLSET_TABLE[name].flatMap((row) => {
      const tool = `${options.prefix ?? ""}${row.tool}`;
      const found = registered.find((each) => each.name === tool);
      return (found === undefined ? [] : sandboxesOf(found)).flatMap((sandbox) =>
        isolationsFor(sandbox, options === TOOLSET_OPTIONS[name]).map((isolation) => ({
          row,
          tool,
          sandbox,
          isolation,
          options,
        })),
      );
    });
  });
}

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

/** With other options, a program is confined in one way: that takes long enough. */
function isolationsFor(sandbox: SandboxMode, isAll: boolean): readonly (Isolation | undefined)[] {
  if (sandbox !== "process") return [undefined];
  return isAll ? ISOLATIONS : ISOLATIONS.slice(0, 1);
}
