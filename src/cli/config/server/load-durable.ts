import type { ConfigProblem } from "../../../config/problem.ts";
import { type CompiledShape, compileShape, described, FLAG, mapOf, TEXT } from "../../../config/shape.ts";
import type { ConfigSource } from "../../../config/source.ts";
import type { JsonObject } from "../../../json/value.ts";
import { checkRestateOptions, type RestateOptions } from "../../../restate/sessions/restate-options.ts";

const URLS: JsonObject = {
  anyOf: [TEXT, { type: "array", items: TEXT, minItems: 1 }],
  message: "must be a URL or a list of URLs",
};

const RESTATE: JsonObject = mapOf(
  {
    ingress: described(URLS, "The URLs of the ingress of its nodes, such as `http://127.0.0.1:8080`."),
    admin: described(
      URLS,
      "The URLs of the admin API of its nodes. Default: port 9070 of the hosts in `ingress`.",
    ),
    listen: described(
      mapOf({
        host: described(
          TEXT,
          "Any other address than a loopback one needs `identityKeys`. Default: `127.0.0.1`.",
        ),
        port: described({ type: "integer", minimum: 0, maximum: 65_535 }, "Default: 9080."),
        reusePort: described(FLAG, "Whether several servers of this machine listen on it. Default: `false`."),
      }),
      "Where the server serves calls to Restate. Default: `127.0.0.1:9080`.",
    ),
    advertise: described(
      TEXT,
      "The URL under which Restate reaches the servers: of a load balancer, if there are several. Default: that of `listen`.",
    ),
    identityKeys: described(
      { type: "array", items: TEXT },
      "The public keys of the cluster, `publickeyv1_…`: requests that are not signed with them are refused. Default: none.",
    ),
    prefix: described(
      TEXT,
      "What the keys of all objects begin with, for several installations on one cluster. Default: nothing.",
    ),
  },
  ["ingress"],
);

/** The shape of `durable`. */
export const DURABLE_SHAPE: CompiledShape = compileShape(
  mapOf(
    {
      restate: described(
        { anyOf: [TEXT, RESTATE], message: "must be a URL or a map with ingress" },
        "Restate: the URL of its ingress, or more: see docs/scale-out.md.",
      ),
    },
    ["restate"],
  ),
);

/** What a config says of Restate; `undefined` if sessions run in this process, or if it has errors. */
export function loadDurable(source: ConfigSource, problems: ConfigProblem[]): RestateOptions | undefined {
  if (source.at(["durable"]) === undefined) return undefined;
  const entry = source.read<{ restate: string | RestateOptions }>(DURABLE_SHAPE, problems, ["durable"]);
  if (entry === undefined) return undefined;
  const { restate } = entry.value;
  const options = typeof restate === "string" ? { ingress: restate } : restate;
  try {
    checkRestateOptions(options);
    if (source.at(["sessions", "store"]) !== undefined) {
      throw new TypeError("sessions.store must be absent: Restate keeps the sessions");
    }
    return options;
  } catch (error) {
    problems.push(source.problem(["durable", "restate"], (error as TypeError).message));
    return undefined;
  }
}
