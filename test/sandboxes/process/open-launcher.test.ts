import { describe, expect, test } from "vitest";
import { EventStream } from "../../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { allow, ask, type PolicyDecision } from "../../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { openLauncher } from "../../../src/sandboxes/process/process-sandbox.ts";
import { landlockUnavailable, unavailable } from "./availability.ts";

const NONE = "/nonexistent/bwrap";

async function run(sandboxes: Sandboxes, decision: PolicyDecision = allow({ sandbox: "process" })) {
  const tool = {
    name: "echo",
    description: "",
    inputSchema: { type: "object" },
    process: { command: "echo", args: ["ran"], input: "none", output: "text" },
  } as const;
  const warnings: string[] = [];
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.log" && event.level === "warn") warnings.push(event.message);
  });
  let asked = 0;
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "c1", name: "echo", arguments: {} },
    {
      registry: new ToolRegistry().register(tool),
      policy: { check: () => decision },
      sandboxes,
      events,
      sessionId: "s1",
      confirm: async () => {
        asked++;
        return { decision: "allow", by: "ann" };
      },
    },
  );
  return { execution, warnings, asked };
}

const IN_NAMESPACES = { sandbox: "process", isolation: "namespaces" } as const;

describe("what confines programs", () => {
  test.skipIf(unavailable)("is namespaces, if nothing else is required", async () => {
    await using sandboxes = await openSandboxes();
    for (const decision of [
      allow({ sandbox: "process" }),
      allow(IN_NAMESPACES),
      ask("?", { grant: IN_NAMESPACES }),
    ]) {
      const { execution, warnings } = await run(sandboxes, decision);
      expect(execution?.output).toBe("ran\n");
      expect(execution?.receipt.isolation).toBe("namespaces");
      expect(warnings).toEqual([]);
    }
  });

  test.skipIf(landlockUnavailable)(
    "is Landlock without bubblewrap, of which an operator reads once",
    async () => {
      await using sandboxes = await openSandboxes({ process: { bubblewrap: NONE } });
      const first = await run(sandboxes);
      expect(first.execution?.receipt.isolation).toBe("landlock");
      expect(first.warnings).toEqual([
        expect.stringMatching(/Landlock, which holds less.*no \/nonexistent\/bwrap/),
      ]);
      expect((await run(sandboxes)).warnings).toEqual([]);
    },
  );

  test.skipIf(landlockUnavailable)("is no surprise if Landlock was chosen", async () => {
    await using sandboxes = await openSandboxes({ process: { isolation: "landlock" } });
    const { execution, warnings } = await run(sandboxes);
    expect(execution?.receipt.isolation).toBe("landlock");
    expect(warnings).toEqual([]);
  });

  test.skipIf(landlockUnavailable)(
    "is refused before anybody is asked if the grant requires more",
    async () => {
      await using sandboxes = await openSandboxes({ process: { bubblewrap: NONE } });
      const { execution, asked } = await run(sandboxes, ask("May it run?", { grant: IN_NAMESPACES }));
      expect(execution?.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
      expect(asked).toBe(0);
    },
  );

  test.skipIf(landlockUnavailable)(
    "is refused before anybody is asked if the grant has a network, and it is Landlock",
    async () => {
      await using sandboxes = await openSandboxes({ process: { bubblewrap: NONE } });
      const grant = { sandbox: "process", capabilities: { net: ["https://example.com"] } } as const;
      const { execution, asked } = await run(sandboxes, ask("May it run?", { grant }));
      expect(execution?.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
      expect(asked).toBe(0);
      expect((await run(sandboxes)).execution?.receipt.enforced).not.toHaveProperty("netBytes");
    },
  );

  test("is refused if the sandbox requires namespaces that are not there", async () => {
    await using sandboxes = await openSandboxes({ process: { isolation: "namespaces", bubblewrap: NONE } });
    const { execution } = await run(sandboxes);
    expect(execution?.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    await expect(openLauncher("namespaces", NONE)).rejects.toThrow(
      /^bubblewrap is not installed: there is no/,
    );
  });
});
