import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/sessions exports exactly these names", async () => {
  expect(await exportedNames("sessions")).toEqual({
    values: ["MemorySessionStore", "SessionStoreError", "SqliteSessionStore"],
    types: [
      "Approval",
      "ApprovalScope",
      "ApprovalTable",
      "CallIdentity",
      "CallRecord",
      "CallTable",
      "Choice",
      "Claim",
      "Inquiry",
      "InquiryRecord",
      "InquiryTable",
      "MessageRecord",
      "Resolution",
      "SessionRecord",
      "SessionStore",
      "SessionTable",
      "ShownCall",
      "StoredApproval",
    ],
  });
});
