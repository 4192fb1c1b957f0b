import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { choice, DURATION, described, FLAG, mapOf, PATH, STRINGS, TEXT } from "../../../config/shape.ts";
import type { ConfigEntry, ConfigPath } from "../../../config/source.ts";
import {
  anyJson,
  constant,
  integer,
  list,
  oneOf,
  record,
  string,
  type Shape as Typed,
  type TypeOf,
  typed,
} from "../../../json/shape.ts";
import { KILL_GRACE_MS, PROGRAM_IDLE_MS } from "../../../sandboxes/process/process-limits.ts";
import { BODY_FORMATS } from "../../../tool/http-template.ts";
import {
  IDLE_FORM,
  isIdleTime,
  type ProcessImplementation,
} from "../../../tool/implementations/process-implementation.ts";
import type { RemoteImplementation } from "../../../tool/implementations/remote-implementation.ts";

/** The times of a program. */
export const PROGRAM_TIMES = {
  killGrace: described(DURATION, "The time between SIGTERM and SIGKILL, up to `60s`.", KILL_GRACE_MS),
  idle: described(
    DURATION,
    "The time after which a program that neither writes anything nor uses CPU time is ended.",
    PROGRAM_IDLE_MS,
  ),
};

/** The times of a program, as a config has them. */
export type ProgramTimes = { readonly [Name in keyof typeof PROGRAM_TIMES]?: string | number | undefined };

/** The schema of a tool's `remote.http`. Its templates are checked when the tool is registered. */
export const HTTP = mapOf(
  {
    method: described(TEXT, "The HTTP method, in upper case.", "GET"),
    url: described(
      TEXT,
      "A URI template (RFC 6570) of the arguments, such as `https://api.example.com/users/{user}{?page}`. Scheme, host and port are fixed.",
    ),
    headers: described(
      record(string()),
      "Header values, in which `{name}` is replaced by an argument and `{secret:NAME}` by a secret. Default: none.",
    ),
    query: described(
      { type: "object" },
      "What is added to the query, for names that a URI template cannot have: a map in which each string `{name}` is replaced by that argument. A list becomes `a=1&a=2`, a map `a[b]=1`. Default: nothing.",
    ),
    body: described(
      anyJson(),
      "The body as JSON, in which each string `{name}` is replaced by that argument. Default: for POST, PUT and PATCH, the arguments that URL, query and headers do not use; otherwise no body.",
    ),
    bodyFormat: described(
      choice(BODY_FORMATS),
      "How the body is written: as JSON, as `application/x-www-form-urlencoded`, or as `multipart/form-data`.",
      "json",
    ),
    response: described(
      mapOf({
        pointer: described(
          string(),
          "A JSON pointer to the part of the body that is the output. Default: the whole body.",
        ),
        text: described(FLAG, "Whether the body is text, and the output a string.", false),
        bigNumbers: described(
          typed<"refuse" | "string">(TEXT),
          "What becomes of numbers that a double cannot hold: `refuse` fails the call, `string` returns their digits.",
          "refuse",
        ),
      }),
      "How the output is read from a response. Default: the whole body as JSON.",
    ),
    maxRedirects: described(
      integer(),
      "The most redirects that are followed, all to granted origins. With 0, a redirect fails the call.",
      0,
    ),
  },
  ["url"],
);

/** The schema of a reference to an argument. Its pointer is checked when the tool is registered. */
const REFERENCE = mapOf(
  {
    argument: described(string(), "A JSON pointer (RFC 6901) into the arguments, such as `/path`."),
  },
  ["argument"],
);
const TEXT_OR_REFERENCE: Typed<string | TypeOf<typeof REFERENCE>> = typed({
  anyOf: [{ type: "string" }, REFERENCE],
  message: "must be a text or { argument: pointer }",
});

/** The schema of a tool's `process`. */
const PROCESS = mapOf(
  {
    command: described(
      TEXT,
      "The program: an absolute path, or a name that is looked up in `/usr/bin` and `/bin`.",
    ),
    args: described(
      list(TEXT_OR_REFERENCE),
      "Its arguments, which no shell interprets: texts, or arguments of the call. A list of strings becomes as many arguments. Together at most about 120 KiB. Default: none.",
    ),
    input: described(
      typed<"json" | "none" | TypeOf<typeof REFERENCE>>({
        anyOf: [{ enum: ["json", "none"] }, REFERENCE],
        message: "must be json, none or { argument: pointer }",
      }),
      "The standard input: the arguments of the call as JSON, nothing, or one of the arguments as text.",
      "json",
    ),
    output: described(
      oneOf(["json", "text", "completion"]),
      "The output: the standard output as JSON, as a string, or an object with exit code, standard output and standard error.",
      "json",
    ),
    failOnExit: described(
      FLAG,
      "With `output: completion`, whether an exit code other than 0 fails the call.",
      false,
    ),
    env: described(
      record(string()),
      "Environment variables with their values, which are not secret. They replace granted ones. Default: none.",
    ),
    cwd: described(
      TEXT_OR_REFERENCE,
      "The working directory, relative to the first granted directory. Default: that directory, or `/tmp` if there is none.",
    ),
    persistentShell: described(
      mapOf(
        {
          when: described(REFERENCE, "The argument that is `true` in calls for the shell."),
          command: described(REFERENCE, "The argument that has the command, as text."),
        },
        ["when", "command"],
      ),
      "With `output: completion`, which calls run a command in a shell that persists for their session. Default: each call runs by itself.",
    ),
    ...PROGRAM_TIMES,
    reportsChanges: described(
      FLAG,
      "Whether the execution lists the changes in the granted directories.",
      false,
    ),
  },
  ["command"],
  { keptShell: "write 'persistentShell'" },
);

const EXECUTOR: Typed<string | readonly string[]> = typed({
  anyOf: [TEXT, { type: "array", items: TEXT, minItems: 1 }],
  message: "must be an address or a list of addresses",
});

const QUICKJS = mapOf({
  file: described(PATH, "The file of the JavaScript. Exactly one of `file` and `source` must be set."),
  source: described(TEXT, "The JavaScript itself."),
  export: described(TEXT, "The name of the exported function.", "default"),
});

/** The schemas of a tool's implementations. */
export const IMPLEMENTATIONS = {
  host: described(
    mapOf(
      {
        module: described(PATH, "The ES module."),
        export: described(TEXT, "The name of its export.", "default"),
        thread: described(
          FLAG,
          "Whether the export is a function that runs in a worker thread. With `false` it runs in Sandgate's own process.",
          true,
        ),
      },
      ["module"],
    ),
    "Runs an export of an ES module, which is trusted: see docs/host-tools.md.",
  ),
  wasm: described(
    mapOf(
      {
        component: described(PATH, "The file of the component."),
        tool: described(
          TEXT,
          "The tool's name within a component of the world `sandgate:tool`. Default: the name of the tool.",
        ),
        export: described(
          TEXT,
          "The exported function in place of `tool`: `name` or `interface#name`, such as `docs:adder/add@0.1.0#add`.",
        ),
        engine: described(
          constant("jco"),
          "Runs the component with the JavaScript that jco generates, only for trusted components; a call needs the capability `engine`. Default: Sandgate's own engine.",
        ),
      },
      ["component"],
    ),
    "Runs a function of a WebAssembly component: see docs/wasm-tools.md.",
  ),
  quickjs: described(
    typed<TypeOf<typeof QUICKJS>>({
      ...QUICKJS,
      oneOf: [{ required: ["file"] }, { required: ["source"] }],
      message: "must have either file or source",
    }),
    "Runs JavaScript in QuickJS: see docs/javascript-tools.md.",
  ),
  process: described(PROCESS, "Runs a program that the kernel confines (Linux): see docs/programs.md."),
  microvm: described(
    mapOf(
      {
        image: described(PATH, "The directory that becomes the root of the machine, read-only."),
        command: described(
          TEXT,
          "The program: an absolute path in the machine, or a name that is looked up in `/usr/local/bin`, `/usr/bin` and `/bin`.",
        ),
        args: described(STRINGS, "Its arguments. With the command, at most 2,000 bytes. Default: none."),
      },
      ["image", "command"],
    ),
    "Runs a program in a virtual machine of its own (Linux on x86-64): see docs/microvm.md.",
  ),
  remote: described(
    typed<RemoteImplementation>({
      ...mapOf({
        url: described(
          TEXT,
          "An endpoint of your own, which gets `{ id, name, session, arguments }` in a POST request and responds with the output as JSON.",
        ),
        http: described(HTTP, "A request to any HTTP endpoint: see docs/http-tools.md."),
        web: described(
          mapOf({ method: described(TEXT, "`GET` or `POST`.") }, ["method"]),
          "A request to the URL in the argument `url`.",
        ),
        executor: described(
          EXECUTOR,
          "Other Sandgates: `http:` or `https:` URLs, or `unix:/PATH`. A call goes to the one with the fewest calls in flight.",
        ),
      }),
      oneOf: ["url", "http", "web", "executor"].map((member) => ({ required: [member] })),
      message: "must have exactly one of url, http, web and executor",
    }),
    "Sends the call elsewhere. Exactly one of the members must be set.",
  ),
};

/**
 * Reads the times of a program.
 *
 * @param path Of the program in the entry.
 * @param problems Receives what is not a duration, or out of bounds.
 */
export function readProgramTimes(
  entry: ConfigEntry<unknown>,
  path: ConfigPath,
  { killGrace, idle }: ProgramTimes,
  problems: ConfigProblem[],
): Pick<ProcessImplementation, "killGraceMs"> & { readonly idleMs?: number } {
  const killGraceMs = killGrace === undefined ? undefined : parseDuration(killGrace);
  const idleMs = idle === undefined ? undefined : parseDuration(idle);
  if (killGrace !== undefined && killGraceMs === undefined)
    problems.push(entry.problem([...path, "killGrace"], `must be ${DURATION_FORM}`));
  if (idle !== undefined && !isIdleTime(idleMs))
    problems.push(entry.problem([...path, "idle"], `must be ${DURATION_FORM}: ${IDLE_FORM}`));
  return { ...(killGraceMs !== undefined && { killGraceMs }), ...(idleMs !== undefined && { idleMs }) };
}
