import type { Redaction } from "../../redaction/redaction.ts";
import { withPaths } from "../../tool/changes.ts";
import type { ConfirmationRequested, DispatchEvent } from "../call/events.ts";
import type { ToolExecution } from "../call/execution.ts";

/** Returns an event without secrets. The digest of the arguments is still that of what runs. */
export function redactEvent(event: DispatchEvent, redaction: Redaction): DispatchEvent {
  switch (event.type) {
    case "tool.decided":
      return event.reason === undefined ? event : { ...event, reason: redaction.text(event.reason) };
    case "tool.confirmation_requested":
      // The summary has no secrets already.
      return redactAsked(event, redaction);
    case "tool.started":
      return { ...event, canonical: event.canonical.shownAs((value) => redaction.json(value)) };
    case "tool.output":
      return { ...event, chunk: redaction.text(event.chunk) };
    case "tool.display":
      return { ...event, source: redaction.text(event.source) };
    case "tool.log":
      return { ...event, message: redaction.text(event.message) };
    case "tool.completed":
      return { ...event, execution: redactExecution(event.execution, redaction) };
    case "tool.failed": {
      const { detail, problems } = event;
      return {
        ...event,
        execution: redactExecution(event.execution, redaction),
        ...(detail !== undefined && { detail: redaction.text(detail) }),
        ...(problems !== undefined && {
          problems: Object.freeze(
            problems.map(({ path, message }) => ({
              path: redaction.text(path),
              message: redaction.text(message),
            })),
          ),
        }),
      };
    }
    default:
      return event;
  }
}

function redactAsked<Asked extends ConfirmationRequested>(event: Asked, redaction: Redaction): Asked {
  const options = event.kind === "question" ? event.options : undefined;
  return {
    ...event,
    question: redaction.text(event.question),
    ...(options && { options: Object.freeze(options.map((option) => redaction.text(option))) }),
  };
}

/** Returns an execution without secrets, frozen. */
export function redactExecution(execution: ToolExecution, redaction: Redaction): ToolExecution {
  const { error, metadata, changes } = execution;
  return Object.freeze({
    ...execution,
    arguments: redaction.json(execution.arguments),
    output: redaction.json(execution.output),
    ...(error !== undefined && {
      error: Object.freeze({ ...error, message: redaction.text(error.message) }),
    }),
    ...(metadata !== undefined && { metadata: redaction.json(metadata) }),
    ...(changes !== undefined && { changes: withPaths(changes, (path) => redaction.text(path)) }),
  });
}
