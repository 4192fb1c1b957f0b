/** The parsed address of an executor. */
export interface ExecutorAddress {
  /** The address in receipts: `https://executor.example:7420`, `unix:/run/sandgate.sock`. */
  readonly url: string;
  /** The origin of the requests; `http://localhost` for a unix socket. */
  readonly origin: string;
  /** The value of the header `host`. */
  readonly authority: string;
  /** The prefix of the protocol's paths, without a slash at the end; empty by default. */
  readonly basePath: string;
  readonly socketPath?: string;
  /** Whether no other machine can read the traffic: TLS, loopback or a unix socket. */
  readonly isPrivate: boolean;
}

/** The most executors of one tool; more can be put behind a load balancer. */
const MAX_EXECUTORS = 64;

/** Parses the `executor` of an implementation into unique addresses. Returns the problem if it is not valid. */
export function parseExecutors(executor: unknown): readonly ExecutorAddress[] | string {
  const urls: readonly unknown[] = Array.isArray(executor) ? executor : [executor];
  if (urls.length === 0 || urls.length > MAX_EXECUTORS) {
    return `executor must be a URL, or a list of 1 to ${MAX_EXECUTORS} URLs`;
  }
  const addresses = new Map<string, ExecutorAddress>();
  for (const url of urls) {
    const address = parseExecutor(url);
    if (typeof address === "string") return address;
    addresses.set(address.url, address);
  }
  return [...addresses.values()];
}

function parseExecutor(url: unknown): ExecutorAddress | string {
  if (typeof url !== "string" && !(url instanceof URL)) return "executor must be a URL, or a list of URLs";
  const [, socketPath] = /^unix:(?:\/\/)?(\/[^\0]+)$/.exec(String(url)) ?? [];
  if (socketPath !== undefined) {
    const [origin, authority] = ["http://localhost", "localhost"];
    return { url: `unix:${socketPath}`, origin, authority, basePath: "", socketPath, isPrivate: true };
  }
  if (!URL.canParse(String(url))) return "executor must be an absolute URL";
  const { protocol, host, hostname, origin, username, password, pathname, search, hash } = new URL(url);
  if (protocol !== "http:" && protocol !== "https:") return "executor must be http:, https: or unix:/PATH";
  // Credentials would be shown wherever the URL is.
  if (username !== "" || password !== "") {
    return "executor must not contain credentials: pass them to openSandboxes";
  }
  if (search !== "" || hash !== "") return "executor must have neither a query nor a fragment";
  const basePath = pathname.replace(/\/+$/, "");
  const isLoopback = /^(?:localhost|127(?:\.[0-9]+){3}|\[::1\])$/.test(hostname);
  const isPrivate = protocol === "https:" || isLoopback;
  return { url: origin + basePath, origin, authority: host, basePath, isPrivate };
}
