import { readFile } from "node:fs/promises";
import { guardFiles } from "../../../base/guarded-files.ts";
import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import {
  type CompiledShape,
  compileShape,
  DURATION,
  described,
  FLAG,
  mapOf,
  TEXT,
  TEXTS,
} from "../../../config/shape.ts";
import type { ConfigSource } from "../../../config/source.ts";
import { type Shape as Typed, type TypeOf, typed } from "../../../json/shape.ts";
import {
  checkPostgresOptions,
  POSTGRES_DEFAULTS,
  type PostgresOptions,
} from "../../../record/postgres-connection.ts";
import {
  checkRestateOptions,
  LISTEN_DEFAULTS,
  type RestateOptions,
} from "../../../restate/sessions/restate-options.ts";
import { absolutePathBeside } from "../guard-code.ts";
import { TOKEN, type TokenEntry } from "../token.ts";

const URLS: Typed<string | readonly string[]> = typed({
  anyOf: [TEXT, { type: "array", items: TEXT, minItems: 1 }],
  message: "must be a URL or a list of URLs",
});

const RESTATE = mapOf(
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
          "Any other address than a loopback one needs `identityKeys`.",
          LISTEN_DEFAULTS.host,
        ),
        port: described(
          typed<number>({ type: "integer", title: "port", minimum: 0, maximum: 65_535 }),
          "",
          LISTEN_DEFAULTS.port,
        ),
        reusePort: described(FLAG, "Whether several servers of this machine listen on it.", false),
      }),
      "Where the server serves calls to Restate. Default: `127.0.0.1:9080`.",
    ),
    advertise: described(
      TEXT,
      "The URL under which Restate reaches the servers: of a load balancer, if there are several. Default: that of `listen`.",
    ),
    identityKeys: described(
      TEXTS,
      "The public keys of the cluster, `publickeyv1_…`: requests that are not signed with them are refused. Default: none.",
    ),
    prefix: described(
      TEXT,
      "What the keys of all objects begin with, for several installations on one cluster. Default: nothing.",
    ),
  },
  ["ingress"],
);

const POSTGRES_URL: Typed<string | TokenEntry> = typed({
  anyOf: [TEXT, TOKEN],
  message: "must be a URL, or have either file or env",
});

const POSTGRES = mapOf(
  {
    url: described(
      POSTGRES_URL,
      "The URL of the database, such as `postgres://host/database`. One with a password belongs into a `file`, or an environment variable (`env`). Hosts other than this one must have a certificate that is valid for their name, unless the URL says otherwise with `sslmode`.",
    ),
    schema: described(
      TEXT,
      "The schema with the tables, one for each installation; it is created if it does not exist.",
      POSTGRES_DEFAULTS.schema,
    ),
    lease: described(
      DURATION,
      "The time without a sign of life after which a server is considered gone, so that the others take over its calls.",
      POSTGRES_DEFAULTS.leaseMs,
    ),
  },
  ["url"],
);

const DURABLE = mapOf({
  restate: described(
    typed<string | TypeOf<typeof RESTATE>>({
      anyOf: [TEXT, RESTATE],
      message: "must be a URL or a map with ingress",
    }),
    "Restate: the URL of its ingress, or more: see docs/scale-out.md. Exactly one of `restate` and `postgres` must be set.",
  ),
  postgres: described(
    typed<string | TypeOf<typeof POSTGRES>>({
      anyOf: [TEXT, POSTGRES],
      message: "must be a URL or a map with url",
    }),
    "PostgreSQL: the URL of a database that all servers share, or more: see docs/scale-out.md.",
  ),
});
type WrittenDurable = TypeOf<typeof DURABLE>;

/** The shape of `durable`. */
export const DURABLE_SHAPE: CompiledShape = compileShape({
  ...DURABLE,
  oneOf: [{ required: ["restate"] }, { required: ["postgres"] }],
  message: "must have either restate or postgres",
});

/** Where sessions of several servers are: what a config says, before secrets are read. */
export type DurableConfig =
  | { readonly restate: RestateOptions; readonly postgres?: undefined }
  | { readonly postgres: PostgresEntry; readonly restate?: undefined };

/** How the database is reached. */
export interface PostgresEntry extends Omit<PostgresOptions, "url"> {
  /** The URL, or the absolute path of the file or the environment variable that has it. */
  readonly url: string | TokenEntry;
}

/** What a config says of sessions on several servers; `undefined` if sessions run in this process, or if it has errors. */
export function loadDurable(source: ConfigSource, problems: ConfigProblem[]): DurableConfig | undefined {
  if (source.at(["durable"]) === undefined) return undefined;
  const entry = source.read<WrittenDurable>(DURABLE_SHAPE, problems, ["durable"]);
  if (entry === undefined) return undefined;
  const { restate, postgres } = entry.value;
  try {
    if (source.at(["sessions", "store"]) !== undefined) {
      const keeper = restate === undefined ? "PostgreSQL" : "Restate";
      throw new TypeError(`sessions.store must be absent: ${keeper} keeps the sessions`);
    }
    if (postgres !== undefined) return { postgres: checkPostgres(source, postgres) };
    const options = typeof restate === "string" ? { ingress: restate } : (restate as RestateOptions);
    checkRestateOptions(options);
    return { restate: options };
  } catch (error) {
    const key = restate === undefined ? "postgres" : "restate";
    problems.push(source.problem(["durable", key], (error as TypeError).message));
    return undefined;
  }
}

/** @throws {TypeError} if a member is invalid, or the URL in the config has a password. */
function checkPostgres(
  source: ConfigSource,
  written: NonNullable<WrittenDurable["postgres"]>,
): PostgresEntry {
  const { url, schema, lease } = typeof written === "string" ? { url: written } : written;
  const leaseMs = lease === undefined ? undefined : parseDuration(lease);
  if (lease !== undefined && leaseMs === undefined) throw new TypeError(`lease must be ${DURATION_FORM}`);
  const options = { ...(schema !== undefined && { schema }), ...(leaseMs !== undefined && { leaseMs }) };
  checkPostgresOptions({ url: typeof url === "string" ? url : "postgres://", ...options });
  if (typeof url === "string") {
    if (URL.parse(url)?.password !== "") {
      throw new TypeError(
        "the URL has a password, which does not belong here: write url: { file } or { env }",
      );
    }
    return { url, ...options };
  }
  if (url.file === undefined) return { url, ...options };
  const file = absolutePathBeside(source.file, url.file);
  guardFiles([{ path: file }]);
  return { url: { file }, ...options };
}

/**
 * Reads where the database is.
 *
 * @throws {TypeError} if the file or the variable that has the URL cannot be read.
 */
export async function readPostgresOptions({ url, ...options }: PostgresEntry): Promise<PostgresOptions> {
  if (typeof url === "string") return { url, ...options };
  if (url.file === undefined) {
    const value = process.env[url.env ?? ""];
    if (value === undefined) throw new TypeError(`the environment variable ${url.env} is not set`);
    return { url: value, ...options };
  }
  try {
    return { url: (await readFile(url.file, "utf8")).trim(), ...options };
  } catch {
    throw new TypeError("the file with its URL cannot be read");
  }
}
