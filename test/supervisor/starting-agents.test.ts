import { expect, test } from "vitest";
import { SupervisorScene } from "./scene.ts";

test.each([
  ["confined", "process"],
  ["unconfined", "none"],
] as const)("A supervisor that is closed waits for the end of an agent that is starting, %s", async (_how, confinement) => {
  await using scene = await SupervisorScene.open();
  const capabilities = { tools: ["*"] };
  let outcome: unknown;
  const starting = scene
    .start("loop", { id: "late", capabilities, confinement })
    .then((agent) => {
      outcome = agent;
    })
    .catch((error: unknown) => {
      outcome = error;
    });
  await scene.supervisor.close();
  await Promise.resolve();
  expect(outcome).toMatchObject({ message: "the supervisor was closed before the agent began" });
  expect(scene.kernel.capabilitiesOf("late")).toBeUndefined();
  await starting;
});

test("An agent that cannot be granted what it is started with keeps what its id has", async () => {
  await using scene = await SupervisorScene.open();
  scene.kernel.grant("kept", { tools: ["Echo"] });
  const capabilities = { tools: ["not a name of a tool"] };
  await expect(scene.start("echo", { id: "kept", capabilities })).rejects.toThrow(TypeError);
  expect(scene.kernel.capabilitiesOf("kept")).toMatchObject({ tools: ["Echo"] });
});
