import { type Command, defineCommand } from "../command.ts";
import { JSON_OUTPUT, REQUIRED_CONFIG } from "./common-options.ts";

/** `sandgate bench` */
export const bench: Command = defineCommand({
  name: "bench",
  summary: "measures the calls of a message with your tools and your policy",
  details: [
    "The calls are repeated in order. With --rate, the time of a call counts from the moment at which it should have begun. Nothing is written to the journal, and no person is asked.",
  ],
  arguments: { "FILE|-": { isOptional: true, help: "the message; default: -, which is standard input" } },
  options: {
    ...REQUIRED_CONFIG,
    concurrency: { type: "string", value: "N", help: "how many calls run at any time; default: 1" },
    rate: { type: "string", value: "N", help: "how many calls begin each second, however long others take" },
    duration: { type: "string", value: "TIME", help: "how long new calls are begun; default: 10s" },
    calls: { type: "string", value: "N", help: "the most calls; default: as many as begin in the time" },
    "warm-up": {
      type: "string",
      value: "TIME",
      help: "how long to make calls first that are not measured; default: 1s; 0 for none",
    },
    "max-p50": { type: "string", value: "TIME", help: "the longest median" },
    "max-p99": { type: "string", value: "TIME", help: "the longest 99th percentile" },
    "max-failed": { type: "string", value: "SHARE", help: "the largest share of failed calls, such as 1%" },
    "allow-effects": { type: "boolean", help: "also calls tools that do more than reading" },
    save: { type: "string", value: "FILE", help: "keeps the result in a file" },
    compare: { type: "string", value: "FILE", help: "compares the result with one that was kept" },
    ...JSON_OUTPUT,
  },
  alternatives: [{ options: ["concurrency", "rate"] }],
  exitCodes: {
    0: "the calls were made, and no figure is above its maximum",
    1: "a figure is above its maximum, or the rate could not be kept",
  },
  // Loaded with the command: the definitions of all commands are loaded for each.
  read: (given, { "FILE|-": file = "-" }) => ({ ...given, file }),
  run: async (given, terminal) => {
    const [{ bench: run }, { readBenchOptions }] = await Promise.all([
      import("../commands/bench/bench.ts"),
      import("../commands/bench/read-options.ts"),
    ]);
    return run(readBenchOptions(given), terminal);
  },
});
