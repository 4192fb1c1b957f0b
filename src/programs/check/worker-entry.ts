import { typeStripperIsBroken } from "../../sandboxes/quickjs/thread/type-stripper.ts";
import type { TaskThread } from "../../sandboxes/threads/thread-message.ts";
import { checkCode } from "./check-code.ts";
import type { CheckedCode, CheckTask } from "./checked-code.ts";

/** Checks a program. It runs in a thread that can be ended, because parsing hostile code can take long. */
export default function checkProgram(task: CheckTask, thread: TaskThread): CheckedCode {
  thread.markStarted();
  const checked = checkCode(task);
  if (typeStripperIsBroken()) thread.afterwards(() => process.exit(1));
  return checked;
}
