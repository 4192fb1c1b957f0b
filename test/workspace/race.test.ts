import { expect, test } from "vitest";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { race } from "./race.ts";

if (!workspaceIsSupported()) console.log("workspace: not tested, directories can be granted on Linux only");

test.runIf(workspaceIsSupported())(
  "a path does not lead outside while another thread renames directories and replaces them by links",
  async () => {
    const { operations, good, outside } = await race((done) => done < 10_000);
    expect(outside).toBe(0);
    expect(operations).toBeGreaterThanOrEqual(10_000);
    expect(good).toBeGreaterThanOrEqual(100);
  },
);
