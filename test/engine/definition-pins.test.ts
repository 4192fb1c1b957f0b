import { describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { contextFor, hostTool } from "./helpers.ts";

const DENIED = "Permission denied: the definition of tool 'changed' is not the one that was approved";

/** A registry that approves every tool but `changed`. */
function pinnedRegistry(): ToolRegistry {
  const pins = { isApproved: (name: string) => name !== "changed" };
  return new ToolRegistry({ pins })
    .register(hostTool(() => 1, { name: "same" }))
    .register(hostTool(() => 1, { name: "changed" }));
}

async function messageOf(registry: ToolRegistry, name: string): Promise<string | undefined> {
  const ctx = await contextFor([], { registry });
  const execution = await new ToolDispatchEngine().dispatch({ id: "1", name, arguments: {} }, ctx);
  return execution?.error?.message;
}

describe("A registry with pins", () => {
  test("offers no tool whose definition was not approved, and denies its calls", async () => {
    const registry = pinnedRegistry();
    expect(registry.definitions().map(({ name }) => name)).toEqual(["same"]);
    expect(await messageOf(registry, "changed")).toBe(DENIED);
    expect(await messageOf(registry, "same")).toBeUndefined();
  });

  test("names no such tool to a model that asks for an unknown one", async () => {
    expect(await messageOf(pinnedRegistry(), "other")).toBe("Tool 'other' not found. Available: [same]");
  });

  test("gives its pins to views and subsets", async () => {
    const registry = pinnedRegistry();
    expect(await messageOf(registry.subset("changed"), "changed")).toBe(DENIED);
    const view = registry.view(() => true);
    expect(await messageOf(view, "changed")).toBe(DENIED);
    registry.pins = undefined;
    expect(await messageOf(view, "changed")).toBeUndefined();
    expect(() => {
      view.pins = undefined;
    }).toThrow("a view of a registry cannot be changed");
  });

  test("asks about the definition that is registered now", async () => {
    const seen: string[] = [];
    const isApproved = (_name: string, { digest }: { digest: string }) => {
      seen.push(digest);
      return true;
    };
    const registry = new ToolRegistry({ pins: { isApproved } }).register(hostTool(() => 1));
    await messageOf(registry, "tool");
    registry.register(
      hostTool(() => 1, { description: "Another." }),
      { replace: true },
    );
    await messageOf(registry, "tool");
    expect(new Set(seen).size).toBe(2);
  });
});
