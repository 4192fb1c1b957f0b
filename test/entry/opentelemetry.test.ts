import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/opentelemetry exports exactly these names", async () => {
  expect(await exportedNames("opentelemetry")).toEqual({
    values: ["callTracer", "instrument"],
    types: ["TelemetryOptions"],
  });
});
