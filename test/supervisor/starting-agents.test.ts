import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";
import { SupervisorScene } from "./scene.ts";

/** Tries to read a file, to write one in its own folder, and to connect to a port, and prints what became of each. */
const trying = (secret: string, port: number): string => `
  import { readFileSync, writeFileSync } from "node:fs";
  const attempt = (act) => { try { act(); return "done"; } catch { return "refused"; } };
  const read = attempt(() => readFileSync(${JSON.stringify(secret)}));
  const write = attempt(() => writeFileSync("own.txt", "x"));
  const connect = await fetch("http://127.0.0.1:${port}").then(() => "done", () => "refused");
  console.log(read, write, connect);
`;

describe.skipIf(ISOLATIONS.length === 0)("What an agent can do itself", () => {
  test.each([
    ["nothing, unless it is said that it is not confined", {}, "refused refused refused"],
    ["what its supervisor can, if it is not confined", { confinement: "none" as const }, "done done done"],
  ])("is %s", async (_what, options, expected) => {
    await using scene = await SupervisorScene.open();
    const server = createServer((_request, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const [secret, cwd] = [join(scene.directory, "secret"), join(scene.directory, "own")];
    writeFileSync(secret, "secret");
    mkdirSync(cwd);
    const { port } = server.address() as AddressInfo;
    const args = ["--input-type=module", "--eval", trying(secret, port)];
    const { log } = await scene.play("", { tools: ["*"] }, { args, cwd, ...options });
    expect(log.map(({ text }) => text)).toEqual([expected]);
  });
});

test.each([
  ...(ISOLATIONS.length === 0 ? [] : ([["confined", "process"]] as const)),
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
