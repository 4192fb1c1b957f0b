import type { RestateSdk } from "../connection/sdk.ts";
import type { RestateService } from "../connection/worker.ts";
import { approvalHandlers } from "./approval-handlers.ts";
import { defineObject } from "./define-object.ts";
import { indexHandlers } from "./index-handlers.ts";
import { inquiryHandlers } from "./inquiry-handlers.ts";
import { ledgerHandlers } from "./ledger-handlers.ts";
import type { ObjectHandlers } from "./object-handlers.ts";
import { principalHandlers } from "./principal-handlers.ts";
import {
  APPROVALS_OBJECT,
  INDEX_OBJECT,
  INQUIRY_OBJECT,
  LEDGER_OBJECT,
  PRINCIPAL_OBJECT,
  SESSION_OBJECT,
} from "./service-names.ts";
import { askingHandlers } from "./session/asking-handlers.ts";
import { callHandlers } from "./session/call-handlers.ts";
import { messageHandlers } from "./session/message-handlers.ts";
import { sessionHandlers } from "./session/session-handlers.ts";

/** Returns the virtual objects of the store of sessions, with further handlers of sessions. */
export function storeServices(sdk: RestateSdk, ofSessions: ObjectHandlers = {}): readonly RestateService[] {
  return [
    defineObject(sdk, SESSION_OBJECT, {
      ...sessionHandlers(sdk),
      ...messageHandlers(sdk),
      ...callHandlers(sdk),
      ...askingHandlers(sdk),
      ...ofSessions,
    }),
    // Its operations need all that it has, which is little: to get it at once saves 3 ms.
    defineObject(sdk, INQUIRY_OBJECT, inquiryHandlers(sdk), { enableLazyState: false }),
    defineObject(sdk, PRINCIPAL_OBJECT, principalHandlers()),
    defineObject(sdk, INDEX_OBJECT, indexHandlers(sdk)),
    defineObject(sdk, APPROVALS_OBJECT, approvalHandlers(sdk)),
    defineObject(sdk, LEDGER_OBJECT, ledgerHandlers(sdk)),
  ];
}
