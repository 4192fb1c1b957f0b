import { isLoopbackHost } from "../base/http-syntax.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { RecordError } from "./backend.ts";

const NAMES: OptionNames<PostgresOptions> = { url: true, schema: true, leaseMs: true };

/** The part of the package `postgres` that is used: types of users must compile without it. */
export interface PostgresClient {
  unsafe(
    statement: string,
    values?: (string | number)[],
    options?: { readonly prepare: boolean },
  ): Promise<readonly Readonly<Record<string, unknown>>[]>;
  begin(body: (client: Pick<PostgresClient, "unsafe">) => Promise<void>): Promise<unknown>;
  listen(
    channel: string,
    onNotification: (payload: string) => void,
    onListening: () => void,
  ): Promise<unknown>;
  end(options: { readonly timeout: number }): Promise<void>;
}

/** How a database of PostgreSQL is reached. */
export interface PostgresOptions {
  /** Such as `postgres://user:password@host:5432/database?sslmode=verify-full`. */
  readonly url: string;
  /** The schema that has the tables: small letters, digits and `_`. It is created if it does not exist. Default: `sandgate`. */
  readonly schema?: string;
  /**
   * Milliseconds without a sign of life after which a process is considered gone: 500 to 600,000. Default:
   * 10,000.
   */
  readonly leaseMs?: number;
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

/** The defaults of {@link PostgresOptions}. */
export const POSTGRES_DEFAULTS: Required<Omit<PostgresOptions, "url">> = Object.freeze({
  schema: "sandgate",
  leaseMs: 10_000,
});

/**
 * Checks options.
 *
 * @throws {TypeError} if one is invalid.
 */
export function checkPostgresOptions(options: PostgresOptions): Required<PostgresOptions> {
  refuseUnknown(options, NAMES, "openPostgres");
  const { url, schema = POSTGRES_DEFAULTS.schema, leaseMs = POSTGRES_DEFAULTS.leaseMs } = options;
  const parsed = URL.parse(url);
  if (parsed === null || !/^postgres(?:ql)?:$/.test(parsed.protocol)) {
    // It may have a password.
    throw new TypeError("the URL of PostgreSQL must begin with postgres://");
  }
  if (!SCHEMA.test(schema)) {
    throw new TypeError(
      "the schema of PostgreSQL must have 1 to 63 small letters, digits and _, and begin with no digit",
    );
  }
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 500 || leaseMs > 600_000) {
    throw new TypeError("the lease of PostgreSQL must be 500 ms to 10 min");
  }
  return { url, schema, leaseMs };
}

/** Returns what opens connections, at most so many at once. They are opened when they are used, and again when they were lost. */
export async function connector(url: string): Promise<(max: number) => PostgresClient> {
  const postgres = await loadPostgres();
  const { hostname = "", searchParams } = URL.parse(url) ?? {};
  const isOutside = hostname !== "" && !isLoopbackHost(hostname);
  return (max) => {
    const client: unknown = postgres(url, {
      max,
      // Without it, anyone on the way could read the arguments of calls.
      ...(isOutside && searchParams?.has("sslmode") !== true && { ssl: "verify-full" as const }),
      fetch_types: false,
      connect_timeout: 10,
      backoff: (retries: number) => Math.min(0.05 * 2 ** retries, 1),
      onnotice: () => {},
      connection: { application_name: "sandgate", default_transaction_isolation: "read committed" },
    });
    return client as PostgresClient;
  };
}

async function loadPostgres(): Promise<typeof import("postgres")> {
  try {
    const { default: postgres } = (await import("postgres")) as unknown as {
      default: typeof import("postgres");
    };
    return postgres;
  } catch (cause) {
    throw new RecordError("PostgreSQL needs the package 'postgres': npm install postgres", { cause });
  }
}

export function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | undefined)?.code;
}

/** SQLSTATEs of a statement, which has had no effect; not those of a connection or a server that ends. */
export function isOfStatement(error: unknown): boolean {
  if (error instanceof RecordError) return true;
  const code = codeOf(error);
  return error instanceof Error && error.name === "PostgresError" && !/^(?:08|57P|53300)/.test(String(code));
}

/** Errors of a connection that was never there, so that nothing was sent. */
export function isOfConnecting(error: unknown): boolean {
  const code = String(codeOf(error));
  return /^(?:ECONNREFUSED|ENOENT|ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT|57P03|53300)$/.test(code);
}

export function failureOf(error: unknown): RecordError {
  if (error instanceof RecordError) return error;
  return new RecordError(`PostgreSQL failed: ${textOf(error)}`, { cause: error });
}

/** What operators read of an error: never the statement or its values. */
export function textOf(error: unknown): string {
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  return code === undefined || text.includes(String(code)) ? text : `${text} (${String(code)})`;
}
