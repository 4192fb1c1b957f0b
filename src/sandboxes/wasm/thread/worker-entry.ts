import { takeGuardedFiles } from "../../../base/guarded-files.ts";
import { boundFailure } from "../../contract/failure-text.ts";
import { outputProblem } from "../../contract/output-bounds.ts";
import type { TaskThread } from "../../threads/thread-message.ts";
import type { WasmArtifact } from "../artifact.ts";
import { callExport, type ExportResult } from "../exports/call-export.ts";
import { GUEST_CALL, type GuestResult, guestArguments, readGuestResult } from "../exports/guest-interface.ts";
import { CurrentCall } from "../host/current-call.ts";
import type { Guest } from "../instance/guest.ts";
import { GuestPool } from "../instance/guest-pool.ts";
import type { WasmAnswer, WasmEnd, WasmTask } from "./thread-task.ts";
import { readTrap, type Trap } from "./trap.ts";

/** The minimum length of values that are lifted, because log lines, errors and values to store are not output. */
const MIN_LIFTED_TEXT_BYTES = 2 * 1_024 * 1_024;

const guests = new GuestPool();

/**
 * Runs one call, in a fresh instance unless it has an owner. After the reply has been sent, the instance for the next
 * call is prepared before the thread takes other work.
 */
export default function runWasmTask(task: WasmTask, thread: TaskThread): WasmAnswer {
  thread.markStarted();
  const artifact = thread.artifact as WasmArtifact;
  const kept = task.owner === undefined ? undefined : guests.takeKept(task.owner);
  const guest = kept ?? guests.takeFresh(artifact);
  const call = new CurrentCall(task, thread);
  takeGuardedFiles(task.guarded);
  const { grant: wasi, netBytes, memoryBytes: cap, outputBytes = Number.POSITIVE_INFINITY } = task;
  const lifted = { memoryBytes: cap, textBytes: Math.max(outputBytes, MIN_LIFTED_TEXT_BYTES) };
  guest.begin({ wasi, netBytes, lifted }, call);
  const end = callTool(guest, artifact, task);
  const files = guest.end();
  const { memoryBytes, isAtMemoryCap: atMemoryCap, isIntact } = guest.instance;
  const mayStay = isIntact && !atMemoryCap && (end.status === "returned" || end.status === "tool-error");
  if (task.owner !== undefined && mayStay) guests.keep(task.owner, guest);
  else guest[Symbol.dispose]();
  if (task.owner === undefined) {
    thread.afterwards(() => {
      const isKept = guests.prepareSpare(artifact, guest);
      if (!isKept) thread.discard(memoryBytes);
    });
  } else if (!mayStay) thread.discard(memoryBytes);
  const logLines = task.logLines - call.log.left.lines;
  return { ...end, ...files, memoryBytes, atMemoryCap, logLines, isReused: kept !== undefined };
}

function callTool({ instance }: Guest, { plan }: WasmArtifact, task: WasmTask): WasmEnd {
  const exported = plan.exports.get(task.export);
  if (exported === undefined) throw new Error("the component does not have this export");
  try {
    if (task.export !== GUEST_CALL) {
      return withinLimit(
        callExport(exported.type, task.input, (args) => instance.call(exported, args)),
        task,
      );
    }
    const args = guestArguments(task.tool, task.input, task);
    return withinLimit(readGuestResult(instance.call(exported, args)), task);
  } catch (thrown) {
    return withinLimit(readTrap(thrown), task);
  }
}

/** Bounds everything that the guest wrote, before the process receives it. */
function withinLimit(
  result: GuestResult | ExportResult | Trap,
  { outputBytes: maxBytes }: WasmTask,
): WasmEnd {
  if (result.status === "lifted-too-much") return result;
  if (result.status !== "returned") return boundFailure(result, maxBytes);
  const outputBytes = Buffer.byteLength(result.text);
  if (outputBytes > (maxBytes ?? Number.POSITIVE_INFINITY)) return { status: "output-exceeded", outputBytes };
  const problem = outputProblem(result.text);
  return problem === undefined ? result : { status: "refused", message: problem };
}
