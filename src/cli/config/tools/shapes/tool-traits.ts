import { described, FLAG, TEXTS } from "../../../../config/described.ts";
import { mapOf, TEXT } from "../../../../config/shape.ts";
import type { JsonObject } from "../../../../json/value.ts";
import { SIDE_EFFECTS } from "../../../../tool/side-effects.ts";
import type { ToolTraits } from "../../../../tool/tool-traits.ts";

/** The name of a trait that is copied from a config as it is. */
export type ConfigTrait = Exclude<
  keyof ToolTraits,
  "timeoutMs" | "visibleTo" | "projectChanges" | "preflight" | "reportsWork" | "searchesTools"
>;

const POINTER = described(
  TEXT,
  "A JSON pointer (RFC 6901) into the arguments, such as `/path`. `*` stands for every item: `/files/*`.",
);

/** The traits that a config can declare. Their values are checked when the tool is registered. */
export const TRAITS: Record<ConfigTrait, JsonObject> = {
  sideEffects: described(
    { type: "string", enum: SIDE_EFFECTS },
    "The worst that the tool can do. Default: `destructive`; with `requireSideEffects`, it is required.",
  ),
  title: described(TEXT, "A name for people. Default: none."),
  tags: described(TEXTS, "Labels that policies and sessions can match. Default: none."),
  outputSchema: described(
    { type: "object" },
    "The JSON Schema of the output. An output that does not match it fails the call. Default: any output.",
  ),
  annotations: described(
    { type: "object" },
    "Hints for clients, such as the annotations of an MCP tool. Default: none.",
  ),
  idempotent: described(FLAG, "Whether repeating a call has no further effect. Default: `false`."),
  maxConcurrent: described(
    { type: "integer" },
    "How many calls of the tool a session may run at once. Default: no limit of its own.",
  ),
  confirm: described(
    { type: "string", enum: ["auto", "prompt"] },
    "Whether a session runs the tool without asking, or asks a person first, if nothing else decides. Default: as its side effects say.",
  ),
  alwaysConfirm: described(
    FLAG,
    "Whether a session asks a person before every call, whatever was remembered. Default: `false`.",
  ),
  submitsPlan: described(
    FLAG,
    "Whether a call submits a plan, about which a session always asks a person. Default: `false`.",
  ),
  paths: described(
    {
      type: "array",
      items: mapOf(
        {
          argument: POINTER,
          access: described(TEXT, "What the tool does there: `read` or `write`."),
        },
        ["argument", "access"],
      ),
    },
    "The arguments that are paths. A call is refused if one of them leads out of the session's workspace. Default: none.",
  ),
  urls: described(
    { type: "array", items: mapOf({ argument: POINTER }, ["argument"]) },
    "The arguments that are URLs. A call is refused unless they are `http:` or `https:` URLs without credentials. Default: none.",
  ),
  usesFiles: described(
    FLAG,
    "Whether the host implementation reads and writes files only through `context.files`; it can then be granted `fs`. Default: `false`.",
  ),
  writesThroughFiles: described(
    FLAG,
    "Whether every write of the tool goes through `context.files`, so that sessions can hold it. Default: `false`.",
  ),
  requiresCapability: described(
    FLAG,
    "Whether a supervised agent needs the tool among its capabilities to call it. Default: `true`.",
  ),
  logFileAccess: described(
    FLAG,
    "Whether files that the host implementation opens without `context.files` are logged. Default: `true` with `paths` and without `usesFiles`, otherwise `false`.",
  ),
  unhandledErrors: described(
    { type: "string", enum: ["message", "redacted"] },
    "What the model reads if the host implementation throws anything but a `ToolFailure`. Default: that of the file.",
  ),
};
