import { compileHeaders } from "../../http-template/header-template.ts";
import { compileUrl } from "../../http-template/url-template.ts";
import type { RemoteImplementation } from "../implementations/remote-implementation.ts";

/** What the grant of every call of a remote tool must name. */
export interface RemoteNeeds {
  /** The origin of its requests. */
  readonly origin: string;
  /** The names of the secrets in its headers. */
  readonly secrets: readonly string[];
}

/** Returns what a registered remote tool needs; `undefined` if it needs nothing. */
export function remoteNeeds(remote: RemoteImplementation | undefined): RemoteNeeds | undefined {
  if (remote === undefined || !("http" in remote) || remote.http === undefined) return undefined;
  const { url, headers = {} } = remote.http;
  return { origin: compileUrl(url).origin, secrets: compileHeaders(headers).secrets };
}
