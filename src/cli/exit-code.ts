/** Every call was dispatched, failed tools included; or there is nothing to complain about. */
export const EXIT_OK = 0;
/** `sandgate tool run`: the tool failed. */
export const EXIT_TOOL_FAILED = 1;
/** The command line, the config, the message or a tool's file is bad. */
export const EXIT_BAD_INPUT = 2;
/** The user interrupted: 128 + SIGINT, as shells have it. */
export const EXIT_INTERRUPTED = 130;

/** What the process tells whoever started it. */
export type ExitCode =
  | typeof EXIT_OK
  | typeof EXIT_TOOL_FAILED
  | typeof EXIT_BAD_INPUT
  | typeof EXIT_INTERRUPTED;
