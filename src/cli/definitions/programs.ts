import { CONFIG, type Command, defineCommand, JSON_OUTPUT } from "../command.ts";
import type { ProgramsPlace } from "../commands/programs.ts";

const PLACE = {
  file: { type: "string", short: "f", value: "FILE", help: "the store of suspended programs" },
  config: { ...CONFIG, help: "a config whose sessions keep programs" },
} as const;

const ONE_PLACE = { options: ["file", "config"], isRequired: true } as const;

const list = defineCommand({
  name: "programs list",
  endsAtOnce: true,
  summary: "lists the programs that are suspended while they wait",
  arguments: {},
  options: { ...PLACE, ...JSON_OUTPUT },
  alternatives: [ONE_PLACE],
  read: ({ json: isJson, ...options }) => ({ place: placeOf(options), isJson }),
  run: async (options, terminal) => (await import("../commands/programs.ts")).list(options, terminal),
});

const show = defineCommand({
  name: "programs show",
  endsAtOnce: true,
  summary: "prints what can be read of a suspended program",
  arguments: { ID: { help: "the id of the program, or the beginning of it" } },
  options: PLACE,
  alternatives: [ONE_PLACE],
  read: (options, { ID: id }) => ({ place: placeOf(options), id }),
  run: async (options, terminal) => (await import("../commands/programs.ts")).show(options, terminal),
});

const cancel = defineCommand({
  name: "programs cancel",
  summary: "removes a suspended program, which then cannot continue",
  arguments: { ID: { help: "the id of the program, or the beginning of it" } },
  options: PLACE,
  alternatives: [ONE_PLACE],
  read: (options, { ID: id }) => ({ place: placeOf(options), id }),
  run: async (options, terminal) => (await import("../commands/programs.ts")).cancel(options, terminal),
});

export const PROGRAM_COMMANDS: readonly Command[] = [list, show, cancel];

function placeOf({
  file,
  config,
}: {
  readonly file?: string | undefined;
  readonly config?: string | undefined;
}): ProgramsPlace {
  return file === undefined ? { config: config as string } : { file };
}
