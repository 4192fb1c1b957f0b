import { expect, test } from "vitest";
import { HOST_WORK } from "../../../guests/host-work/cases.ts";
import { hostOperations } from "../../../guests/host-work/operations.ts";

test("everything that the host does for a guest is tried with hostile values by npm run test:guests", () => {
  expect(Object.keys(HOST_WORK).sort()).toEqual(hostOperations());
});
