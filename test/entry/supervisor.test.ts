import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/supervisor exports exactly these names", async () => {
  expect(await exportedNames("supervisor")).toEqual({
    values: ["CapabilityKernel", "kernelPolicy", "openSupervisor"],
    types: [
      "AgentCapabilities",
      "AgentEnd",
      "AgentHandle",
      "AgentLogLine",
      "AgentOptions",
      "AgentQuotas",
      "FsCapability",
      "KernelChange",
      "Slug",
      "Supervisor",
      "SupervisorOptions",
    ],
  });
});
