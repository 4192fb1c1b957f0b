import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/agents exports exactly these names", async () => {
  expect(await exportedNames("agents")).toEqual({
    values: ["MAX_AGENT_DEPTH", "agentTools"],
    types: ["AgentRequest", "AgentToolsOptions", "RunAgent", "WorkerOptions"],
  });
});
