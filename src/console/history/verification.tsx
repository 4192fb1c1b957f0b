import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { messageOf, send } from "../api/http.ts";
import { hasRole } from "../api/session.ts";
import { Json } from "../parts/json.tsx";
import { Problem } from "../parts/problem.tsx";

/** Has the server verify its journal, and shows the report. */
export function Verification(): JSX.Element | null {
  const report = useSignal<unknown>(undefined);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  if (!hasRole("admin", "reader")) return null;
  const verify = async (): Promise<void> => {
    isBusy.value = true;
    report.value = undefined;
    problem.value = "";
    try {
      report.value = await send<unknown>("POST", "/v1/journal/verification");
    } catch (error) {
      problem.value = messageOf(error);
    }
    isBusy.value = false;
  };
  return (
    <div>
      <button type="button" onClick={verify} disabled={isBusy}>
        {isBusy.value ? "Verifying…" : "Verify the journal"}
      </button>
      <Problem of={problem} />
      <div role="status">
        {report.value !== undefined && <Json value={report.value} label="Report of the verification" />}
      </div>
    </div>
  );
}
