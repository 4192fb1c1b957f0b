import { FORMATS } from "../../protocols/formats.ts";
import { type Command, defineCommand } from "../command.ts";
import { REQUIRED_CONFIG } from "./common-options.ts";

/** `sandgate dispatch` */
export const dispatch: Command = defineCommand({
  name: "dispatch",
  summary: "dispatches the tool calls of a message, and prints the results",
  details: ["The message is that of an assistant, whole or as a recorded stream."],
  arguments: {
    "FILE|-": { isOptional: true, help: "the message; default: -, which is standard input" },
  },
  options: {
    ...REQUIRED_CONFIG,
    format: {
      type: "string",
      value: "FORMAT",
      choices: ["auto", ...FORMATS],
      help: "the format of the message; default: auto, which detects it",
    },
    output: {
      type: "string",
      value: "OUTPUT",
      choices: ["table", "json", "messages"],
      help: "what is printed; default: table. messages prints what to send back to the provider",
    },
    events: { type: "boolean", help: "also writes the operator's log of the calls to standard error" },
    confirm: { type: "boolean", help: "asks on the terminal about the calls that need a confirmation" },
    "dry-run": { type: "boolean", help: "prints the decision and the grant of each call, and runs nothing" },
  },
  alternatives: [{ options: ["confirm", "dry-run"] }],
  exitCodes: { 0: "every call was dispatched, even if tools failed" },
  read: ({ config, format = "auto", output = "table", ...flags }, { "FILE|-": file = "-" }) => ({
    file,
    config,
    format,
    output,
    events: flags.events,
    confirm: flags.confirm,
    dryRun: flags["dry-run"],
  }),
  run: async (options, terminal) => (await import("../commands/dispatch.ts")).dispatch(options, terminal),
});
