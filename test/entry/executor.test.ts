import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/executor exports exactly these names", async () => {
  expect(await exportedNames("executor")).toEqual({
    values: ["ListenError", "startExecutor"],
    types: [
      "CallWindowBounds",
      "Executor",
      "ExecutorLimits",
      "ExecutorOptions",
      "NamedCertificate",
      "NamedToken",
      "ProblemCode",
      "RefusedCall",
      "RefusedHandshake",
      "RefusedRequest",
      "ServerTls",
    ],
  });
});
