import type { Command } from "../command.ts";
import { bench } from "./bench.ts";
import { check, doctor } from "./check.ts";
import { dispatch } from "./dispatch.ts";
import { JOURNAL_COMMANDS, why } from "./journal.ts";
import { MCP_COMMANDS } from "./mcp.ts";
import { POLICY_COMMANDS } from "./policy.ts";
import { PROGRAM_COMMANDS } from "./programs.ts";
import { completion, init, schema } from "./project.ts";
import { confirm, console, serve, supervise } from "./serve.ts";
import { TOOL_COMMANDS } from "./tool.ts";

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  init,
  dispatch,
  check,
  bench,
  doctor,
  ...POLICY_COMMANDS,
  serve,
  console,
  supervise,
  confirm,
  ...PROGRAM_COMMANDS,
  ...JOURNAL_COMMANDS,
  why,
  ...MCP_COMMANDS,
  ...TOOL_COMMANDS,
  schema,
  completion,
];
