import type { TaskThread } from "../../threads/thread-message.ts";
import { validateComponent } from "./wasm-tools.ts";

/**
 * The message that has a thread validate a component, or compile a core module. The thread's artifact is wasm-tools,
 * compiled.
 */
export interface ValidationTask {
  readonly kind: "validate" | "compile";
  readonly binary: Uint8Array;
}

/** Why the binary is not valid; otherwise the compiled module, or nothing for a component. */
export type ValidationAnswer = string | WebAssembly.Module | undefined;

/** Validates one component, or compiles one core module. */
export default function runValidation(
  { kind, binary }: ValidationTask,
  thread: TaskThread,
): ValidationAnswer {
  thread.markStarted();
  if (kind === "validate") return validateComponent(thread.artifact as WebAssembly.Module, binary);
  try {
    return new WebAssembly.Module(binary as BufferSource);
  } catch (error) {
    return String(error);
  }
}
