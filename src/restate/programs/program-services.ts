import type { RestateSdk } from "../connection/sdk.ts";
import type { RestateService } from "../connection/worker.ts";
import { defineObject } from "../objects/define-object.ts";
import { programHandlers } from "./program-handlers.ts";
import { programIndexHandlers } from "./program-index-handlers.ts";
import { PROGRAM_INDEX_OBJECT, PROGRAM_OBJECT, TEMPLATE_OBJECT } from "./program-objects.ts";
import { templateHandlers } from "./template-handlers.ts";

/** Returns the virtual objects of the store of suspended programs. */
export function programServices(sdk: RestateSdk): readonly RestateService[] {
  return [
    defineObject(sdk, PROGRAM_OBJECT, programHandlers(sdk)),
    defineObject(sdk, TEMPLATE_OBJECT, templateHandlers(sdk)),
    defineObject(sdk, PROGRAM_INDEX_OBJECT, programIndexHandlers(sdk)),
  ];
}
