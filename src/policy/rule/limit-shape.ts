import { described } from "../../config/described.ts";
import type { JsonObject } from "../../json/value.ts";
import { MAX_WALL_TIME_MS } from "../grant/limits.ts";

const DURATION = { type: ["integer", "string"], title: "duration" };
const SIZE = { type: ["integer", "string"], title: "size" };
const COUNT = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

/** The schemas of limits in code. */
export const LIMITS: JsonObject = {
  wallTimeMs: { ...COUNT, maximum: MAX_WALL_TIME_MS },
  memoryBytes: COUNT,
  outputBytes: COUNT,
  stackBytes: COUNT,
  logLines: COUNT,
  nestedCalls: COUNT,
  fileBytes: COUNT,
  netBytes: COUNT,
  cpuMs: COUNT,
  processes: COUNT,
  processMemoryBytes: COUNT,
  waitTimeMs: { ...COUNT, maximum: MAX_WALL_TIME_MS },
};

const OWN = "Default: that of the sandbox.";

/** The schemas of limits in a file. The units are checked when they are parsed. */
export const WRITTEN_LIMITS: JsonObject = {
  wallTime: described(DURATION, `The time from the start of the work to its end. ${OWN}`),
  memory: described(SIZE, `The memory that the tool can allocate. ${OWN}`),
  output: described(SIZE, `The size of the output, as JSON text. ${OWN}`),
  stack: described(SIZE, `The size of the stack, which bounds the depth of recursion. ${OWN}`),
  logLines: described(COUNT, `Lines that the tool can log. Further lines are dropped. ${OWN}`),
  nestedCalls: described(
    COUNT,
    `Calls that the tool can make to other tools. Further calls are refused. ${OWN}`,
  ),
  file: described(SIZE, `The bytes that the tool can write to files. ${OWN}`),
  net: described(SIZE, `The bytes that the tool can send and receive over the network. ${OWN}`),
  cpu: described(
    DURATION,
    `The CPU time of each process, rounded up to seconds: only in the sandbox \`process\`. ${OWN}`,
  ),
  processes: described(
    COUNT,
    `Processes and threads at once: in the sandboxes \`process\` and \`microvm\`. ${OWN}`,
  ),
  processMemory: described(
    SIZE,
    `The address space of each process: only in the sandbox \`process\`. ${OWN}`,
  ),
  waitTime: described(
    DURATION,
    `The time for which the call can wait for people in all: only in the sandbox \`quickjs\`. ${OWN}`,
  ),
};
