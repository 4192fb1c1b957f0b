import { FORMATS } from "../../protocols/formats.ts";
import { CONFIG, type Command, defineCommand, FOUND_CONFIG, JSON_OUTPUT, withConfig } from "../command.ts";
import type { ProgramsPlace } from "../commands/programs.ts";
import type { Terminal } from "../terminal.ts";

/** `sandgate bench` */
export const bench: Command = defineCommand({
  name: "bench",
  summary: "measures the calls of a message with your tools and your policy",
  details: [
    "The calls are repeated in order. With --rate, the time of a call counts from the moment at which it should have begun. Nothing is written to the journal, and no person is asked.",
  ],
  arguments: { "FILE|-": { isOptional: true, help: "the message; default: -, which is standard input" } },
  options: {
    ...FOUND_CONFIG,
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
    "allow-effects": { type: "boolean", help: "also calls tools that do more than read" },
    save: { type: "string", value: "FILE", help: "keeps the result in a file" },
    compare: { type: "string", value: "FILE", help: "compares the result with one that was kept" },
    ...JSON_OUTPUT,
  },
  alternatives: [{ options: ["concurrency", "rate"] }],
  exitCodes: {
    0: "the calls were made, and no figure is above its maximum",
    1: "a figure is above its maximum, or the rate could not be sustained",
  },
  // Loaded with the command: the definitions of all commands are loaded for each.
  read: (given, { "FILE|-": file = "-" }) => ({ ...given, file }),
  run: async (given, terminal) => {
    const { bench: run, readBenchOptions } = await import("../commands/bench/bench.ts");
    return run(readBenchOptions(await withConfig(given, "calls", terminal)), terminal);
  },
});

/** `sandgate dispatch` */
export const dispatch: Command = defineCommand({
  name: "dispatch",
  summary: "dispatches the tool calls of a message, and prints the results",
  details: ["The message is that of an assistant, whole or as a recorded stream."],
  arguments: {
    "FILE|-": { isOptional: true, help: "the message; default: -, which is standard input" },
  },
  options: {
    ...FOUND_CONFIG,
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
  read: ({ config, yes, format = "auto", output = "table", ...flags }, { "FILE|-": file = "-" }) => ({
    file,
    config,
    yes,
    format,
    output,
    events: flags.events,
    confirm: flags.confirm,
    dryRun: flags["dry-run"],
  }),
  run: async (options, terminal) =>
    (await import("../commands/dispatch.ts")).dispatch(
      await withConfig(options, options.dryRun ? "loads" : "calls", terminal),
      terminal,
    ),
});

const PLACE = {
  file: { type: "string", short: "f", value: "FILE", help: "the store of suspended programs" },
  config: { ...CONFIG, help: "a config whose sessions keep programs; default: sandgate.yaml in this folder" },
} as const;

const ONE_PLACE = { options: ["file", "config"] } as const;

const list = defineCommand({
  name: "programs list",
  endsAtOnce: true,
  summary: "lists the programs that are suspended while they wait",
  arguments: {},
  options: { ...PLACE, ...JSON_OUTPUT },
  alternatives: [ONE_PLACE],
  read: ({ json: isJson, ...options }) => ({ place: options, isJson }),
  run: async ({ place, ...options }, terminal) =>
    (await import("../commands/programs.ts")).list(
      { ...options, place: await placeOf(place, terminal) },
      terminal,
    ),
});

const show = defineCommand({
  name: "programs show",
  endsAtOnce: true,
  summary: "prints what can be read of a suspended program",
  arguments: { ID: { help: "the id of the program, or the beginning of it" } },
  options: PLACE,
  alternatives: [ONE_PLACE],
  read: (options, { ID: id }) => ({ place: options, id }),
  run: async ({ place, ...options }, terminal) =>
    (await import("../commands/programs.ts")).show(
      { ...options, place: await placeOf(place, terminal) },
      terminal,
    ),
});

const cancel = defineCommand({
  name: "programs cancel",
  summary: "removes a suspended program, which then cannot continue",
  arguments: { ID: { help: "the id of the program, or the beginning of it" } },
  options: PLACE,
  alternatives: [ONE_PLACE],
  read: (options, { ID: id }) => ({ place: options, id }),
  run: async ({ place, ...options }, terminal) =>
    (await import("../commands/programs.ts")).cancel(
      { ...options, place: await placeOf(place, terminal) },
      terminal,
    ),
});

export const PROGRAM_COMMANDS: readonly Command[] = [list, show, cancel];

/** The store, or the config that names it. */
async function placeOf(
  { file, config }: { readonly file?: string | undefined; readonly config?: string | undefined },
  terminal: Terminal,
): Promise<ProgramsPlace> {
  return file === undefined ? withConfig({ config }, "reads", terminal) : { file };
}
