import type { TaskThread } from "../../threads/thread-message.ts";
import { validateComponent } from "./wasm-tools.ts";

/** The message that has a thread validate a component. The thread's artifact is wasm-tools, compiled. */
export interface ValidationTask {
  readonly binary: Uint8Array;
}

/** Why the component is not valid; `undefined` if it is. */
export type ValidationAnswer = string | undefined;

/** Validates one component. */
export default function runValidation({ binary }: ValidationTask, thread: TaskThread): ValidationAnswer {
  thread.markStarted();
  return validateComponent(thread.artifact as WebAssembly.Module, binary);
}
