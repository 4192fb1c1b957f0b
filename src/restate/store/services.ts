import type { ObjectOptions } from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/sdk.ts";
import type { RestateService } from "../connection/worker.ts";
import { approvalHandlers } from "./approval-handlers.ts";
import { indexHandlers } from "./index-handlers.ts";
import { inquiryHandlers } from "./inquiry-handlers.ts";
import { ledgerHandlers } from "./ledger-handlers.ts";
import type { ObjectHandlers } from "./object-handlers.ts";
import {
  APPROVALS_OBJECT,
  INDEX_OBJECT,
  INQUIRY_OBJECT,
  LEDGER_OBJECT,
  SESSION_OBJECT,
} from "./service-names.ts";
import { askingHandlers } from "./session/asking-handlers.ts";
import { callHandlers } from "./session/call-handlers.ts";
import { messageHandlers } from "./session/message-handlers.ts";
import { sessionHandlers } from "./session/session-handlers.ts";
import { severalHandler } from "./several.ts";

/** The options of the objects of stores. A handler may say otherwise. */
export const OBJECT_OPTIONS: ObjectOptions = {
  // Each operation reads few of the values that an object has.
  enableLazyState: true,
  // For how long an operation whose answer was lost can be sent again.
  idempotencyRetention: { minutes: 10 },
  journalRetention: 0,
};

/** Returns the virtual objects of the store of sessions, with further handlers of sessions. */
export function storeServices(sdk: RestateSdk, ofSessions: ObjectHandlers = {}): readonly RestateService[] {
  const define = (name: string, handlers: ObjectHandlers): RestateService =>
    sdk.object({
      name,
      handlers: { ...handlers, ...severalHandler(sdk, handlers) },
      options: OBJECT_OPTIONS,
    }) as RestateService;
  return [
    define(SESSION_OBJECT, {
      ...sessionHandlers(sdk),
      ...messageHandlers(sdk),
      ...callHandlers(sdk),
      ...askingHandlers(sdk),
      ...ofSessions,
    }),
    define(INQUIRY_OBJECT, inquiryHandlers(sdk)),
    define(INDEX_OBJECT, indexHandlers(sdk)),
    define(APPROVALS_OBJECT, approvalHandlers(sdk)),
    define(LEDGER_OBJECT, ledgerHandlers(sdk)),
  ];
}
