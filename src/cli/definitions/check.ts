import { type Command, defineCommand } from "../command.ts";
import { CONFIG, JSON_OUTPUT, REQUIRED_CONFIG } from "./common-options.ts";

/** `sandgate check` */
export const check: Command = defineCommand({
  name: "check",
  endsAtOnce: true,
  summary: "loads everything that a config names, and reports every problem",
  details: [
    "It prepares each tool in each of its sandboxes, and starts MCP servers, which list their tools. No tool runs.",
  ],
  arguments: {},
  options: { ...REQUIRED_CONFIG, ...JSON_OUTPUT },
  exitCodes: { 0: "there are no errors; there may be warnings" },
  read: ({ config, json }) => ({ config, isJson: json }),
  run: async (options, terminal) => (await import("../commands/check/check.ts")).check(options, terminal),
});

/** `sandgate doctor` */
export const doctor: Command = defineCommand({
  name: "doctor",
  endsAtOnce: true,
  summary: "prints which sandboxes and limits work on this machine, and how to get the others",
  arguments: {},
  options: {
    config: { ...CONFIG, help: "also prints what this config uses and this machine does not have" },
    ...JSON_OUTPUT,
  },
  exitCodes: { 1: "the config uses something that does not work here" },
  read: ({ config, json }) => ({ config, json }),
  run: async (options, terminal) => (await import("../commands/doctor.ts")).doctor(options, terminal),
});
