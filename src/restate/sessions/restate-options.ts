import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";

const NAMES: OptionNames<RestateOptions> = {
  ingress: true,
  admin: true,
  listen: true,
  advertise: true,
  identityKeys: true,
  prefix: true,
  drainMs: true,
};
const LISTEN_NAMES: OptionNames<NonNullable<RestateOptions["listen"]>> = {
  host: true,
  port: true,
  reusePort: true,
};
/** How Restate is reached, and how it reaches this process. */
export interface RestateOptions {
  /** The URLs of the ingress of the nodes, such as `http://127.0.0.1:8080`. */
  readonly ingress: string | readonly string[];
  /** The URLs of the admin API of the nodes. Default: port 9070 of the hosts in `ingress`. */
  readonly admin?: string | readonly string[];
  /** Where this process serves calls to Restate. */
  readonly listen?: {
    /** Default: `127.0.0.1`. Any other address needs `identityKeys`. */
    readonly host?: string;
    /** Default: 9080. */
    readonly port?: number;
    /** Whether several processes of this machine listen on the port. Default: `false`. */
    readonly reusePort?: boolean;
  };
  /** The URL under which Restate reaches the processes: of a load balancer, if there are several. Default: that of `listen`. */
  readonly advertise?: string;
  /** The public keys of the Restate cluster, as it prints them when it starts: `publickeyv1_…`. Default: none. */
  readonly identityKeys?: readonly string[];
  /**
   * What the keys of all objects begin with, for several installations on one cluster. No prefix may be the beginning of
   * another one. Default: none.
   */
  readonly prefix?: string;
  /** Milliseconds for which calls that run may continue when the process ends: 0 to 2^31 - 1. Default: 10,000. */
  readonly drainMs?: number;
}

/** The options with their defaults. */
export interface RestateSettings {
  readonly ingress: readonly string[];
  readonly admin: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly advertise: string | undefined;
  readonly identityKeys: readonly string[];
  readonly prefix: string;
  readonly drainMs: number;
}

/** The defaults of `listen`. */
export const LISTEN_DEFAULTS: { readonly host: string; readonly port: number } = Object.freeze({
  host: "127.0.0.1",
  port: 9_080,
});

/** @throws {TypeError} if a URL is invalid, or none is given. */
export function checkRestateOptions(options: RestateOptions): RestateSettings {
  refuseUnknown(options, NAMES, "openRestate");
  if (options.listen !== undefined) refuseUnknown(options.listen, LISTEN_NAMES, "listen of openRestate");
  const { listen = {}, advertise, identityKeys = [], prefix = "", drainMs = 10_000 } = options;
  const ingress = urlsOf(options.ingress, "ingress");
  const { host = LISTEN_DEFAULTS.host, port = LISTEN_DEFAULTS.port, reusePort = false } = listen;
  return {
    ingress,
    admin: options.admin === undefined ? ingress.map(adminOf) : urlsOf(options.admin, "admin"),
    host,
    port,
    reusePort,
    identityKeys,
    prefix,
    drainMs,
    advertise: advertise === undefined ? undefined : urlsOf(advertise, "advertise")[0],
  };
}

function urlsOf(given: string | readonly string[], name: string): readonly string[] {
  const urls = typeof given === "string" ? [given] : given;
  if (urls.length === 0) throw new TypeError(`'${name}' needs at least one URL`);
  for (const url of urls) {
    const parsed = URL.parse(url);
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
      throw new TypeError(`'${name}' must be an http or https URL, not ${JSON.stringify(url)}`);
    }
  }
  return urls;
}

function adminOf(ingress: string): string {
  const url = new URL(ingress);
  url.port = "9070";
  return url.origin;
}
