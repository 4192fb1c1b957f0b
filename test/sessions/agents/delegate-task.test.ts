import { describe, expect, test } from "vitest";
import { type AgentRequest, agentTools } from "../../../src/sessions/agent-tools.ts";
import type { Session } from "../../../src/sessions/session.ts";
import type { Sessions } from "../../../src/sessions/sessions.ts";
import { agentSessions, run } from "./harness.ts";

const names = (session: Session): string[] => session.definitions().map(({ name }) => name);

describe("delegate_task", () => {
  test.each([true, () => true])("is in the catalogue with a paid backend", async (isPaid) => {
    const { sessions } = await agentSessions(() => "", { worker: { model: "small", backend: { isPaid } } });
    expect(names(await sessions.open())).toContain("delegate_task");
    await sessions.close();
  });

  test.each([
    false,
    () => false,
    undefined,
    "yes",
  ])("is absent if the backend is free (%s)", async (isPaid) => {
    const { sessions } = await agentSessions(() => "", {
      worker: { model: "small", backend: { isPaid: isPaid as boolean } },
    });
    const session = await sessions.open();
    expect(names(session)).not.toContain("delegate_task");
    expect((await run(session, "delegate_task", { prompt: "Why?" })).error?.code).toBe("not_found");
    await sessions.close();
  });

  test("is asked about the backend whenever the catalogue is written", async () => {
    const backend = { isPaid: false };
    const { sessions } = await agentSessions(() => "", { worker: { model: "small", backend } });
    const session = await sessions.open();
    expect(names(session)).not.toContain("delegate_task");
    backend.isPaid = true;
    expect(names(session)).toContain("delegate_task");
    backend.isPaid = false;
    expect(names(session)).not.toContain("delegate_task");
    await sessions.close();
  });

  test("has the worker's model answer with tools that only read: writing and agents are not found", async () => {
    let seen: AgentRequest | undefined;
    const errors: unknown[] = [];
    const { sessions } = await agentSessions(
      async (request) => {
        seen = request;
        for (const name of ["write", "shell", "spawn_agent", "delegate_task"]) {
          const { error } = await run(request.session, name, name.includes("_") ? { prompt: "x" } : {});
          errors.push(error?.code);
        }
        return String((await run(request.session, "read")).output);
      },
      { worker: { model: "small", backend: { isPaid: true } } },
    );
    const session = await sessions.open({ mode: "autonomous" });
    expect(await run(session, "delegate_task", { prompt: "What is there?" })).toMatchObject({
      success: true,
      output: "read ran",
    });
    expect(seen).toMatchObject({ model: "small", prompt: "What is there?", maxIterations: 15 });
    expect(seen?.tools.map(({ name }) => name)).toEqual(["look", "read"]);
    expect(errors).toEqual(["not_found", "not_found", "not_found", "not_found"]);
    await sessions.close();
  });
});

test.each([
  ["no runAgent", { runAgent: undefined }],
  ["no sessions", { sessions: undefined }],
  ["a time-out of 0", { timeoutMs: 0 }],
  ["no model", { worker: { model: "", backend: { isPaid: true } } }],
])("agentTools refuses options with %s", (_what, wrong) => {
  const options = { sessions: () => ({}) as Sessions, runAgent: () => "", ...wrong };
  expect(() => agentTools(options as never)).toThrow(TypeError);
});
