import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Changes } from "../../tool/changes.ts";
import type { ExecutionReceipt } from "../call/execution.ts";
import type { DeniedRecord } from "../call/journal.ts";
import type { DispatchFailure } from "../failure/errors.ts";
import type { CallState } from "../in-flight/state.ts";
import { callRecord, decidedRecord } from "../steps/record.ts";

/**
 * Records how a call ended, or that it did not run. Never throws.
 *
 * @returns The receipt, which says so if the end of a call that ran could not be recorded.
 */
export function recordEnd(
  call: CallState,
  receipt: ExecutionReceipt,
  output: JsonValue,
  failure: DispatchFailure | undefined,
  changes?: Changes,
): ExecutionReceipt {
  const { journal } = call.ctx;
  if (journal === undefined) return receipt;
  try {
    if (!call.isRecorded) {
      const { code, detail: reason } = failure as DispatchFailure;
      recordDenial(call, { code, ...(reason !== undefined && { reason }) });
      return receipt;
    }
    journal.end({
      ...callRecord(call),
      ...{ success: failure === undefined, receipt },
      ...(failure !== undefined && { code: failure.code, effect: failure.effect }),
      output: new CanonicalJson(output),
      ...(changes !== undefined && { changes }),
      ...(call.questions !== undefined && { questions: call.questions }),
    });
    return receipt;
  } catch {
    return Object.freeze({ ...receipt, recorded: false });
  }
}

/** Records a call that does not run. Never throws. */
export function recordDenial(call: CallState, why: Pick<DeniedRecord, "code" | "reason">): void {
  try {
    call.ctx.journal?.deny({ ...decidedRecord(call), ...why });
  } catch {
    // Nothing ran, so no effect lacks its record.
  }
}
