import { expect, test } from "vitest";
import { ToolsetScene } from "../toolset-scene.ts";

test("system_monitor returns the load, the memory, and the disk of the workspace", async () => {
  await using scene = await ToolsetScene.open("system");
  const { output } = await scene.call("system_monitor", {});
  expect(output).toEqual({
    cpus: expect.any(Number),
    load: [expect.any(Number), expect.any(Number), expect.any(Number)],
    uptimeSeconds: expect.any(Number),
    memory: { totalBytes: expect.any(Number), freeBytes: expect.any(Number) },
    disk: { totalBytes: expect.any(Number), freeBytes: expect.any(Number) },
  });
});
