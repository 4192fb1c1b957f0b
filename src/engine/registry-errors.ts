import { SandgateError } from "../base/sandgate-error.ts";

/** Thrown if a registry has no tool with that name. */
export class ToolNotFoundError extends SandgateError {
  override readonly name = "ToolNotFoundError";
  override readonly code = "tool_not_found";
  readonly toolName: string;

  constructor(toolName: string) {
    super(`Tool '${toolName}' is not registered`);
    this.toolName = toolName;
  }
}

/** Thrown if a tool cannot be registered. `reasons` has every reason, not only the first. */
export class ToolRegistrationError extends SandgateError {
  override readonly name: string = "ToolRegistrationError";
  override readonly code: "invalid_tool" | "duplicate_tool" = "invalid_tool";
  readonly toolName: string;
  readonly reasons: readonly string[];

  constructor(toolName: string, reasons: readonly string[]) {
    super(`Tool '${toolName}' cannot be registered: ${reasons.join("; ")}`);
    this.toolName = toolName;
    this.reasons = Object.freeze([...reasons]);
  }
}

/** Thrown if a tool cannot be registered because its name is taken, whatever else is wrong with it. */
export class DuplicateToolError extends ToolRegistrationError {
  override readonly name = "DuplicateToolError";
  override readonly code = "duplicate_tool";
}
